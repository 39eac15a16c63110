// The links of this frame: resolved, each address once with the first text that it has.

const LINK_CHARS = 24000;

function resolved(href) {
  try { return new URL(href, location.href).href; } catch { return ""; }
}

function links({ scope, limit }) {
  const root = scope ? elementOf(scope) : document;
  if (!root) return { gone: true, ...takeMinted() };
  const byUrl = new Map();
  for (const element of rendered(root)) {
    const tag = tagOf(element);
    if ((tag !== "a" && tag !== "area") || !has(element, "href")) continue;
    const { href } = element; // an object on links in SVG
    const url = typeof href === "string" ? href : resolved(href.baseVal);
    if (!/^(https?|ftp|mailto|tel):/i.test(url)) continue;
    const known = byUrl.get(url);
    if (known && known.text) continue;
    if (!checkShown(element, {})) continue;
    const text = cut(nameOf(element, "link"), 200);
    if (known) known.text = text;
    else byUrl.set(url, { url, text, ref: numbers.get(element) || "", rel: attr(element, "rel") || "" });
  }
  const found = [];
  let chars = 0;
  for (const link of byUrl.values()) {
    chars += link.url.length + link.text.length + 30;
    if (found.length >= limit || (found.length && chars > LINK_CHARS)) break;
    found.push(link);
  }
  return { links: found, total: byUrl.size, ...takeMinted() };
}
