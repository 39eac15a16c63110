// Pictures that operations took.

import { picture } from "./api.js";
import { make } from "./dom.js";

const TYPES = ["image/png", "image/jpeg", "image/webp"];

/** The image of a screenshot's result: its bytes when they came along, its artifact otherwise. Throws Refused. */
export async function image(result, alt) {
  const type = TYPES.includes(result.content_type) ? result.content_type : "image/png";
  const source = result.image ? `data:${type};base64,${result.image}` : await picture(result.artifact.artifact_id, type);
  return make("img", { src: source, alt, width: result.width, height: result.height });
}
