// Calls to the gateway. The token lives in this module's memory only.

let token = "";

/** Takes the token for every later call; empty forgets it. */
export function useToken(value) {
  token = value;
}

/** The authorization that a WebSocket sends first. */
export function authorization() {
  return `Bearer ${token}`;
}

/** What the gateway refused: code, message, hint, details as it told them. */
export class Refused extends Error {
  constructor(error, status) {
    super(error.message);
    this.code = error.code;
    this.hint = error.hint;
    this.details = error.details;
    this.status = status;
  }
}

/** Reads a path; throws Refused. */
export async function read(path) {
  return answer(await send(path, {}));
}

/** Posts JSON; resolves to the whole envelope {operation_id, request_id, status, result}; throws Refused. */
export async function post(path, body = {}) {
  return answer(await send(path, { method: "POST", body: JSON.stringify(body) }));
}

/** An artifact as a data URL of a type that is an image's; throws Refused. */
export async function picture(artifactId, contentType) {
  const response = await send(`/api/artifacts/${encodeURIComponent(artifactId)}`, {});
  if (!response.ok) {
    await answer(response);
  }
  const bytes = new Uint8Array(await response.arrayBuffer());
  const reader = new FileReader();
  const done = new Promise((resolve, reject) => {
    reader.addEventListener("load", () => resolve(reader.result));
    reader.addEventListener("error", () => reject(reader.error));
  });
  reader.readAsDataURL(new Blob([bytes], { type: contentType }));
  return done;
}

/** Each line of an NDJSON answer, until `wants` is false of one; what follows is not read. Throws Refused. */
export async function readLines(path, wants) {
  const aborter = new AbortController();
  const response = await send(path, { signal: aborter.signal });
  if (!response.ok) {
    await answer(response);
  }
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  const lines = [];
  let rest = "";
  for (;;) {
    const { done, value } = await reader.read();
    const parts = (rest + (value ?? "")).split("\n");
    rest = parts.pop();
    for (const part of parts.filter((each) => each !== "")) {
      const line = JSON.parse(part);
      if (!wants(line)) {
        aborter.abort();
        return lines;
      }
      lines.push(line);
    }
    if (done) {
      return lines;
    }
  }
}

function send(path, options) {
  const headers = { authorization: authorization(), "content-type": "application/json" };
  return fetch(path, { ...options, headers, cache: "no-store" });
}

async function answer(response) {
  const told = await response.json();
  if (!response.ok) {
    throw new Refused(told.error, response.status);
  }
  return told;
}
