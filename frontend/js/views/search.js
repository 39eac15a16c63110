import { when } from "../dom.js";
import { listing } from "../listing.js";

export const search = listing({
  title: "Search",
  path: "/api/search?page_size=100",
  name: "jobs",
  roots: ["search"],
  empty: "No search has been started.",
  columns: [
    ["Job", (job) => job.job_id],
    ["Query", (job) => job.query],
    ["Stage", (job) => job.stage],
    ["Results", (job) => job.results.length],
    ["Changed", (job) => when(job.updated_at_ms)],
  ],
});
