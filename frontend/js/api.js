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

/** What the gateway refused: code, message, hint as it told them. */
export class Refused extends Error {
  constructor(error, status) {
    super(error.message);
    this.code = error.code;
    this.hint = error.hint;
    this.status = status;
  }
}

/** Reads a path; throws Refused. */
export async function read(path) {
  const response = await fetch(path, { headers: { authorization: authorization() }, cache: "no-store" });
  const answer = await response.json();
  if (!response.ok) {
    throw new Refused(answer.error, response.status);
  }
  return answer;
}
