/*
 * What a message says, for who shows it: the bodies of the catalogue (SPEC §11.2), and text as nodes. Nothing here
 * makes HTML, and only addresses that may be opened become links.
 */
export { bodyOf, isUpload, shownSize, type Body, type MergedBody, type Picture, type Place, type PollBody } from "./body.js"
export { linkBegins, linkEnd, safeHref } from "./links.js"
export { inline, onlyEmoji, parse, plain, type Block, type Inline, type Names } from "./markdown.js"
