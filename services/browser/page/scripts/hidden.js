// Which text people cannot see, by the rules of SPEC §4: display, visibility, opacity < 0.05, clipped or < 2 px, off every
// scrollable area, contrast < 1.1, font < 4 px.

const parsedColors = new Map();
function colorOf(css) {
  let color = parsedColors.get(css);
  if (color) return color;
  const parts = css.match(/[\d.]+/g);
  color = /^rgba?\(/.test(css) && parts ? { r: +parts[0], g: +parts[1], b: +parts[2], a: parts[3] === undefined ? 1 : +parts[3] } : null;
  if (parsedColors.size > 2000) parsedColors.clear();
  parsedColors.set(css, color);
  return color;
}

function luminance({ r, g, b }) {
  const channel = (value) => (value /= 255) <= 0.04045 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4;
  return 0.2126 * channel(r) + 0.7152 * channel(g) + 0.0722 * channel(b);
}

function contrast(one, other) {
  const [a, b] = [luminance(one), luminance(other)];
  return (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
}

const WHITE = { r: 255, g: 255, b: 255, a: 1 };

// What an element's text stands on; null when that cannot be told (pictures, layers, half-transparent colours).
function backdrop(style, inherited) {
  if (style.backgroundImage !== "none" || style.mixBlendMode !== "normal") return null;
  const color = colorOf(style.backgroundColor);
  if (!color) return null;
  if (color.a === 0) return /^(absolute|fixed)$/.test(style.position) ? null : inherited;
  return color.a === 1 ? color : null;
}

// Nobody sees this element nor anything in it.
function hidesAll(element, style, opacity) {
  if (style.display === "none" || style.contentVisibility === "hidden" || opacity < 0.05) return true;
  if (style.display === "contents") return false;
  const placed = style.position === "absolute" || style.position === "fixed";
  const clips = style.overflowX !== "visible" || style.overflowY !== "visible" || style.clip !== "auto" || style.clipPath !== "none";
  if (!placed && !clips) return false;
  const box = boxOf(element);
  if (clips && (box.width < 2 || box.height < 2)) return true;
  if (clips && /^inset\((5\d|[6-9]\d|100)(\.\d+)?%/.test(style.clipPath)) return true;
  if (placed && /^rect\(0(px)?,? 0(px)?,? 0(px)?,? 0(px)?\)$/.test(style.clip)) return true;
  return placed && box.width > 0 && (box.right + scrollX <= 0 || box.bottom + scrollY <= 0);
}

// The text right in an element cannot be seen, whatever is further inside.
function hidesText(style, ground) {
  if (style.visibility !== "visible" || parseFloat(style.fontSize) < 4 || parseFloat(style.textIndent) < -500) return true;
  const color = colorOf(style.webkitTextFillColor || style.color);
  if (!color) return false;
  if (color.a === 0) return style.backgroundClip !== "text";
  return !!ground && color.a === 1 && contrast(color, ground) < 1.1;
}
