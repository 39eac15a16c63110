// A Node program as anybody would write it, for tests: lists agents and events over the gRPC front.
// node read.js <descriptor set> <target> <token> <agent_id>; prints one JSON object.
"use strict";

const fs = require("node:fs");
const { createRequire } = require("node:module");
const fromHere = createRequire(`${process.cwd()}/`);
const grpc = fromHere("@grpc/grpc-js");
const loader = fromHere("@grpc/proto-loader");

const [descriptors, target, token, agentId] = process.argv.slice(2);
const definition = loader.loadFileDescriptorSetFromBuffer(fs.readFileSync(descriptors), {
  keepCase: true,
  longs: Number,
  enums: String,
  defaults: true,
});
const { hyperkitty } = grpc.loadPackageDefinition(definition);
const metadata = new grpc.Metadata();
metadata.set("authorization", `Bearer ${token}`);

function call(client, method, request, sent = metadata) {
  return new Promise((resolve, reject) => {
    const deadline = { deadline: Date.now() + 15_000 };
    client[method](request, sent, deadline, (error, answer) => (error ? reject(error) : resolve(answer)));
  });
}

function collected(stream) {
  return new Promise((resolve, reject) => {
    const parts = [];
    stream.on("data", (part) => parts.push(part));
    stream.on("error", reject);
    stream.on("end", () => resolve(parts));
  });
}

async function main() {
  const credentials = grpc.credentials.createInsecure();
  const agents = new hyperkitty.agent.v1.AgentService(target, credentials);
  const events = new hyperkitty.events.v1.EventService(target, credentials);
  const listed = await call(agents, "ListAgents", { page_size: 200 });
  const recent = await call(events, "ListRecentEvents", { subject: agentId });
  const exported = await collected(events.ExportEvents({ subject: agentId }, metadata));
  const refused = await call(agents, "ListAgents", {}, new grpc.Metadata()).catch((error) => error.code);
  const answer = {
    agents: listed.agents.map(({ agent_id, state, limits }) => ({ agent_id, state, max_actions: limits.max_actions })),
    recent: recent.events.map(({ category, sequence }) => ({ category, sequence })),
    exported: exported.map(({ event }) => event.category),
    refused,
  };
  process.stdout.write(JSON.stringify(answer));
  agents.close();
  events.close();
}

main().catch((error) => {
  process.stderr.write(`${error.stack}\n`);
  process.exitCode = 1;
});
