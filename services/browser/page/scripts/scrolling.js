// Scrolling: which box a wheel turns, and when it has come to rest.

const SCROLLS = /^(auto|scroll|overlay|hidden)$/;

// The nearest box around the element that can scroll by the deltas; the document when none can.
function scrollerOf(element, deltaX, deltaY) {
  for (let at = element; at; at = flatParent(at)) {
    if (at === document.body || at === document.documentElement) break;
    const style = getComputedStyle(at);
    const canX = deltaX && at.scrollWidth > at.clientWidth && SCROLLS.test(style.overflowX) && style.overflowX !== "hidden";
    const canY = deltaY && at.scrollHeight > at.clientHeight && SCROLLS.test(style.overflowY) && style.overflowY !== "hidden";
    if (canX || canY) return at;
  }
  return document.scrollingElement || document.documentElement;
}

const scrolled = (scroller) => ({
  x: scroller.scrollLeft, y: scroller.scrollTop,
  maxX: Math.max(0, scroller.scrollWidth - scroller.clientWidth), maxY: Math.max(0, scroller.scrollHeight - scroller.clientHeight),
});

// Where a wheel at a point would scroll: remembered under a handle.
function wheelTarget({ handle, x, y, deltaX, deltaY }) {
  const element = (handle && handles.get(handle)) || deepestAt(x, y) || document.documentElement;
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
  return { ...last, url: location.href, title: document.title };
}

// Brings an element into view without a wheel.
async function reveal({ handle, milliseconds }) {
  const element = handles.get(handle);
  if (!element || !isConnected(element)) return { gone: true };
  element.scrollIntoView({ block: "center", inline: "nearest", behavior: "instant" });
  handles.delete(handle);
  return scrollRest({ handle: handleOf(scrollerOf(flatParent(element) || element, 1, 1)), x: NaN, y: NaN, milliseconds });
}

// Sizes for a picture of the whole page, and of an element, in CSS pixels of the page.
function pageBox({ handle }) {
  const element = handle && handles.get(handle);
  const root = document.documentElement;
  const whole = { x: 0, y: 0, width: Math.max(root.scrollWidth, root.clientWidth), height: Math.max(root.scrollHeight, root.clientHeight) };
  if (!element) return whole;
  const box = boxOf(element);
  return { x: box.x + scrollX, y: box.y + scrollY, width: box.width, height: box.height };
}
