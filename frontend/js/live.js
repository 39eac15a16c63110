// Reading something again when events say that it changed. Nothing polls.

const SETTLE_MS = 150;

/**
 * Calls `refresh` now and when events concern it, never twice at once. `concerns(event)` says which do.
 * Returns {now, stop}.
 */
export function live(log, concerns, refresh) {
  let timer = 0;
  let stopped = false;
  let running = false;
  let again = false;
  const run = async () => {
    if (running) {
      again = true;
      return;
    }
    running = true;
    do {
      again = false;
      await refresh();
    } while (again && !stopped);
    running = false;
  };
  const unfollow = log.follow((events) => {
    if (events.some(concerns)) {
      clearTimeout(timer);
      timer = setTimeout(run, SETTLE_MS);
    }
  });
  const stop = () => {
    stopped = true;
    clearTimeout(timer);
    unfollow();
  };
  return { now: run, stop };
}

/** Events of these first tokens of a category. */
export function ofRoot(...roots) {
  return (event) => roots.includes(event.category.split(".", 1)[0]);
}
