// Scrolling: which box a wheel turns, and when it has come to rest.

const SCROLLS = /^(auto|scroll|overlay|hidden)$/;

// The nearest box around the element that can scroll by the deltas; the document when none can.
function scrollerOf(element, deltaX, deltaY) {
  for (let at = element; at; at = flatParent(at)) {
    if (at === pageBody() || at === pageRoot()) break;
    const style = getComputedStyle(at);
    const canX = deltaX && scrollWidthOf(at) > clientWidthOf(at) && SCROLLS.test(style.overflowX) && style.overflowX !== "hidden";
    const canY = deltaY && scrollHeightOf(at) > clientHeightOf(at) && SCROLLS.test(style.overflowY) && style.overflowY !== "hidden";
    if (canX || canY) return at;
  }
  return pageScroller() || pageRoot();
}

const scrolled = (scroller) => ({
  x: scrollLeftOf(scroller), y: scrollTopOf(scroller),
  maxX: Math.max(0, scrollWidthOf(scroller) - clientWidthOf(scroller)),
  maxY: Math.max(0, scrollHeightOf(scroller) - clientHeightOf(scroller)),
});

// Where a wheel at a point would scroll: remembered under a handle.
function wheelTarget({ handle, x, y, deltaX, deltaY }) {
  const element = (handle && handles.get(handle)) || deepestAt(x, y) || pageRoot();
  const scroller = scrollerOf(element, deltaX, deltaY);
  return { handle: handleOf(scroller), ...scrolled(scroller) };
}

// Waits until the position has been the same in three frames running; `moved` says whether a first movement is awaited.
async function scrollRest({ handle, x, y, milliseconds }) {
  const scroller = handles.get(handle);
  if (!scroller) return { gone: true };
  const end = performance.now() + milliseconds;
  let last = scrolled(scroller);
  let still = 0;
  for (;;) {
    await nextFrame();
    const now = scrolled(scroller);
    still = now.x === last.x && now.y === last.y ? still + 1 : 0;
    last = now;
    const moved = now.x !== x || now.y !== y;
    if (still >= (moved ? 3 : 6) || performance.now() >= end) break;
  }
  handles.delete(handle);
  return { ...last, ...pageState() };
}

// Brings an element into view without a wheel.
async function reveal({ handle, milliseconds }) {
  const element = handles.get(handle);
  if (!element || !isConnected(element)) return { gone: true };
  revealElement(element, { block: "center", inline: "nearest", behavior: "instant" });
  handles.delete(handle);
  return scrollRest({ handle: handleOf(scrollerOf(flatParent(element) || element, 1, 1)), x: NaN, y: NaN, milliseconds });
}

// Sizes for a picture of the whole page, and of an element, in CSS pixels of the page.
function pageBox({ handle }) {
  const element = handle && handles.get(handle);
  const root = pageRoot();
  const width = Math.max(scrollWidthOf(root), clientWidthOf(root));
  const whole = { x: 0, y: 0, width, height: Math.max(scrollHeightOf(root), clientHeightOf(root)) };
  if (!element) return whole;
  const box = boxOf(element);
  return { x: box.x + scrollX, y: box.y + scrollY, width: box.width, height: box.height };
}
