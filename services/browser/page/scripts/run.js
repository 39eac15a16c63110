// The one door of the scripts: run(name, arguments) gives {value} or {bad}.

const FUNCTIONS = {
  snapshot, read, links, query, replacements, locate, aim, finish, focused, armKeys, armFirstKey, typed,
  findText, textRest, absentRest, checkable, checkRest, choices, pickOptions, setValue, submitter,
  describeAgain, fileInput, watchDrag, dragSeen, keptHere, putBack,
  wheelTarget, scrollRest, reveal, pageBox, through,
  view: () => ({ x: 0, y: 0, width: innerWidth, height: innerHeight }),
  state: pageState,
};

// Where a child frame's point is in this frame; the guard then lets only the frame itself have the pointer.
function through({ frame, x, y, guard }) {
  const element = ownerOf(frame);
  if (!element) return { gone: true };
  const at = throughOwner(element, x, y);
  if (guard && !at.by) armPointer(element, at, guard);
  return at;
}

function ownerOf(frame) {
  for (const root of allRoots()) {
    for (const element of queryAll(root, "iframe, frame")) if (frames.get(element) === frame) return element;
  }
  return null;
}

async function run(name, args) {
  const loan = { next: args.next || 0, end: (args.next || 0) + (args.count || 0), minted: [] };
  lend(loan);
  try {
    return { value: await FUNCTIONS[name]({ ...args, loan }) };
  } catch (error) {
    if (error instanceof BadTarget) return { bad: error.message };
    throw error;
  }
}
