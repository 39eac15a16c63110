// A source document with the span that a sentence cites. Its text came from elsewhere: it is text, never markup.

import { read } from "../../api.js";
import { make, when } from "../../dom.js";
import { refusal } from "../../forms.js";

/** Shows the document in `place`, the cited span marked and in sight. */
export async function cited(place, path, citation) {
  try {
    const found = await read(`${path}/documents/${encodeURIComponent(citation.document_id)}`);
    // Offsets count Unicode code points, the end exclusive (SPEC §7); a JavaScript string counts UTF-16 units.
    const points = Array.from(found.extracted_text);
    const part = (from, to) => points.slice(from, to).join("");
    const mark = make("mark", {}, part(citation.start, citation.end));
    const text = make(
      "pre",
      { tabindex: "0", role: "region", "aria-label": "Text of the source" },
      part(0, citation.start),
      mark,
      part(citation.end),
    );
    place.replaceChildren(
      make("h4", {}, "Source"),
      make("p", { class: "quiet url" }, `${found.url} · fetched ${when(found.fetched_at_ms)}`),
      text,
    );
    mark.scrollIntoView({ block: "nearest" });
  } catch (error) {
    place.replaceChildren(refusal(error));
  }
}
