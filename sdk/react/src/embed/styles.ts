/*
 * The look of the conversation on a page of somebody else's. --skein-… are the page's to set; what stands behind each is
 * the default, in the tones of the web app. Sizes are px: the page's root font size is not ours. Of the element itself
 * the page decides place and size, and nothing else.
 */

/** What a page may set, for light and dark: accent, its text, ground, surface, text, quiet text, bubbles, lines, error, font, size of text, radius. */
const light = `
  --accent: var(--skein-accent, oklch(0.545 0.135 46)); --on-accent: var(--skein-on-accent, oklch(0.99 0.006 70));
  --ground: var(--skein-ground, oklch(0.965 0.005 240)); --surface: var(--skein-surface, oklch(0.99 0.002 240));
  --ink: var(--skein-text, oklch(0.27 0.022 250)); --quiet: var(--skein-quiet, oklch(0.48 0.02 248));
  --own: var(--skein-own, oklch(0.915 0.038 62)); --own-ink: var(--skein-own-text, oklch(0.29 0.035 50)); --own-quiet: var(--skein-own-quiet, oklch(0.44 0.045 52));
  --other: var(--skein-other, oklch(1 0 0)); --rule: var(--skein-line, oklch(0.35 0.03 245 / 0.13)); --control: oklch(0.6 0.018 245);
  --error: var(--skein-error, oklch(0.53 0.18 27)); --press: oklch(0.35 0.03 245 / 0.08); --focus: var(--skein-accent, oklch(0.5 0.11 245));
  --link: oklch(0.46 0.1 245); color-scheme: light;`
const dark = `
  --accent: var(--skein-accent, oklch(0.765 0.118 62)); --on-accent: var(--skein-on-accent, oklch(0.22 0.035 55));
  --ground: var(--skein-ground, oklch(0.2 0.012 248)); --surface: var(--skein-surface, oklch(0.235 0.013 248));
  --ink: var(--skein-text, oklch(0.925 0.008 240)); --quiet: var(--skein-quiet, oklch(0.735 0.014 242));
  --own: var(--skein-own, oklch(0.345 0.042 55)); --own-ink: var(--skein-own-text, oklch(0.945 0.014 70)); --own-quiet: var(--skein-own-quiet, oklch(0.785 0.035 65));
  --other: var(--skein-other, oklch(0.285 0.015 248)); --rule: var(--skein-line, oklch(0.9 0.02 245 / 0.12)); --control: oklch(0.58 0.018 246);
  --error: var(--skein-error, oklch(0.75 0.14 26)); --press: oklch(0.9 0.02 245 / 0.1); --focus: var(--skein-accent, oklch(0.78 0.1 240));
  --link: oklch(0.79 0.085 240); color-scheme: dark;`

const frame = `
:host { height: 520px; min-width: 0; }
:host { display: block !important; padding: 0 !important; border: 0 !important; background: none !important; opacity: 1 !important; filter: none !important;
  transform: none !important; columns: auto !important; visibility: visible !important; }
:host([hidden]) { display: none !important; }
.skein { all: initial; direction: ltr; box-sizing: border-box; container-type: inline-size; display: flex; flex-direction: column; position: relative; isolation: isolate;
  height: 100%; min-height: 220px; overflow: hidden; border-radius: var(--radius); border: 1px solid var(--rule); background: var(--surface); color: var(--ink);
  --radius: var(--skein-radius, 14px); --target: 36px; --size: var(--skein-text-size, 15px);
  font: 400 var(--size)/1.45 var(--skein-font, system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", "Noto Sans", "PingFang SC", "Microsoft YaHei", "Noto Sans CJK SC", sans-serif); ${light} }
.skein[data-theme="dark"] {${dark} }
.skein *, .skein *::before { box-sizing: border-box; }
h2, h3, p, ol, ul, blockquote, pre { margin: 0; padding: 0; font: inherit; }
ol, ul { list-style: none; }
button, textarea { font: inherit; color: inherit; }
button { border: 0; background: none; padding: 0; cursor: pointer; }
button:disabled { cursor: default; }
:focus-visible { outline: 2px solid var(--focus); outline-offset: 2px; }
svg { display: block; }
.hidden { position: absolute; width: 1px; height: 1px; overflow: hidden; clip-path: inset(50%); white-space: nowrap; }
.quiet { color: var(--quiet); font-size: 13px; }
header { padding: 12px 16px; border-bottom: 1px solid var(--rule); }
header h2 { font-weight: 640; font-size: 16px; overflow: hidden; text-overflow: ellipsis; white-space: nowrap; }
.below { min-height: 22px; padding: 0 16px 2px; font-size: 12px; line-height: 20px; color: var(--quiet); background: var(--ground); overflow: hidden; text-overflow: ellipsis; white-space: nowrap; }
.below[data-state="offline"] { color: var(--error); }
.barred { padding: 14px 16px; border-top: 1px solid var(--rule); color: var(--quiet); text-align: center; }
.link { color: var(--link); font-size: 13px; text-decoration: underline; text-underline-offset: 2px; min-height: 24px; padding: 0 4px; border-radius: 6px; }
.plain { min-height: var(--target); padding: 0 16px; border-radius: 999px; background: var(--accent); color: var(--on-accent); font-weight: 560; }
.icon { flex: none; width: var(--target); height: var(--target); border-radius: 999px; display: grid; place-items: center; color: var(--quiet); }
.icon:hover { background: var(--press); color: var(--ink); }
.primary, .primary:hover { background: var(--accent); color: var(--on-accent); }
.primary:disabled { background: none; color: var(--quiet); opacity: 0.75; }
@container (max-width: 480px) { .skein * { --target: 44px; } }
@media (pointer: coarse) { .skein * { --target: 44px; } }
`

const timeline = `
.timeline { position: relative; flex: 1; min-height: 0; display: flex; flex-direction: column; background: var(--ground); }
.view { flex: 1; min-height: 0; overflow: hidden auto; overscroll-behavior: contain; overflow-anchor: none; padding: 8px 14px 4px; display: flex; flex-direction: column; scrollbar-width: thin; }
.view:focus-visible { outline-offset: -3px; }
.rows { margin-top: auto; }
.older { align-self: center; min-height: 32px; }
.empty { text-wrap: balance; margin: auto; padding: 24px; text-align: center; color: var(--quiet); }
.day { margin: 12px 0 6px; text-align: center; font-size: 12px; font-weight: 560; color: var(--quiet); }
.row { display: flex; flex-direction: column; align-items: flex-start; padding-bottom: 2px; }
.row.last { padding-bottom: 10px; }
.row.own { align-items: flex-end; }
.who { font-size: 12px; font-weight: 600; color: var(--quiet); padding: 0 12px 2px; max-width: 100%; overflow: hidden; text-overflow: ellipsis; white-space: nowrap; }
.acts { display: flex; flex-direction: column; align-items: inherit; width: 100%; }
.beside { display: flex; align-items: center; gap: 2px; width: 100%; }
.own .beside { flex-direction: row-reverse; }
.act { opacity: 0; }
.row:hover .act, .act:focus-visible, .act[aria-expanded="true"] { opacity: 1; }
@media (hover: none) { .act { opacity: 0.75; } }
.bar { display: flex; flex-wrap: wrap; padding: 2px 4px; margin-top: 4px; border-radius: 20px; background: var(--surface); box-shadow: 0 0 0 1px var(--rule); }
.emoji { font-size: 18px; line-height: 1; color: var(--ink); }
.emoji[aria-pressed="true"] { background: var(--press); }
.bubble { display: flex; flex-wrap: wrap; justify-content: flex-end; align-items: flex-end; column-gap: 10px; max-width: min(84%, 520px); min-width: 0; padding: 7px 12px 6px; border-radius: 16px; background: var(--other); color: var(--ink); box-shadow: 0 0 0 1px var(--rule); }
.own .bubble { background: var(--own); color: var(--own-ink); box-shadow: none; --quiet: var(--own-quiet); --link: var(--own-ink); }
.other.last .bubble { border-bottom-left-radius: 5px; }
.own.last .bubble { border-bottom-right-radius: 5px; }
.bare .bubble { background: none; box-shadow: none; padding: 2px 0; --quiet: inherit; }
.bubble > * { min-width: 0; }
.text { flex: 1 1 auto; overflow-wrap: anywhere; }
.text.large { font-size: 34px; line-height: 1.2; }
.text p + p, .text p + ul, .text ul + p, .text ol + p, .text p + ol { margin-top: 4px; }
.text ul, .text ol { padding-inline-start: 22px; list-style: disc; }
.text ol { list-style: decimal; }
.text blockquote { padding-inline-start: 10px; border-inline-start: 3px solid var(--rule); }
.text strong { font-weight: 660; }
.text em { font-style: italic; }
.text a { color: var(--link); text-decoration: underline; text-underline-offset: 2px; overflow-wrap: anywhere; border-radius: 3px; }
.text code, .text pre { font-family: ui-monospace, "SF Mono", Menlo, Consolas, "Noto Sans Mono", monospace; font-size: 13px; background: var(--press); border-radius: 5px; }
.text code { padding: 1px 4px; }
.text pre { padding: 8px 10px; margin: 4px 0; overflow-x: auto; white-space: pre; }
.text pre code { padding: 0; background: none; }
.mention { font-weight: 600; color: var(--link); }
.recalled { font-style: italic; color: var(--quiet); }
.meta { display: flex; justify-content: flex-end; align-items: center; gap: 5px; margin-top: 1px; font-size: 11px; line-height: 16px; color: var(--quiet); }
.tick svg { width: 15px; height: 15px; }
.tick.read { color: var(--accent); }
.own .tick.read { color: var(--own-ink); }
.tick.failed { color: var(--error); }
.quote { flex: 1 1 100%; display: flex; flex-direction: column; padding: 2px 8px; margin: 2px 0 5px; border-inline-start: 3px solid var(--accent); border-radius: 4px; background: var(--press); font-size: 13px; overflow: hidden; }
.quote span { overflow: hidden; text-overflow: ellipsis; white-space: nowrap; }
.quote strong { font-weight: 600; }
.reactions { display: flex; flex-wrap: wrap; gap: 4px; padding: 4px 4px 2px; }
.reactions button { padding: 0 8px; border-radius: 999px; border: 1px solid var(--rule); background: var(--surface); font-size: 13px; line-height: 24px; }
.reactions [aria-pressed="true"] { border-color: var(--accent); }
.poll { flex: 1 1 100%; width: 260px; max-width: 100%; }
.question { font-weight: 600; overflow-wrap: anywhere; }
.option { display: grid; grid-template-columns: 1fr auto; gap: 2px 10px; width: 100%; min-height: var(--target); align-content: center; padding: 4px 8px; margin-top: 4px; border: 1px solid var(--rule); border-radius: 10px; text-align: start; }
.option[aria-checked="true"] { border-color: var(--accent); box-shadow: inset 0 0 0 1px var(--accent); }
.choice { overflow-wrap: anywhere; }
.part { font-size: 13px; color: var(--quiet); }
.option progress { grid-column: 1 / -1; appearance: none; border: 0; border-radius: 2px; overflow: hidden; background: var(--press); }
.option progress::-webkit-progress-bar { background: var(--press); }
.option progress::-webkit-progress-value { background: var(--accent); }
.option progress::-moz-progress-bar { background: var(--accent); }
.failed { font-size: 12px; }
p.failed { display: flex; flex-wrap: wrap; justify-content: flex-end; align-items: center; gap: 2px 8px; padding: 3px 2px; color: var(--error); }
.bubble:has(> .picture, > .grid) { padding: 4px 4px 5px; }
.bubble:has(> .picture, > .grid) > :is(.meta, .text) { padding-inline: 8px; }
.picture { display: block; max-width: 100%; border-radius: 10px; overflow: hidden; background: var(--press); margin: 1px 0 3px; }
.picture img { display: block; width: 100%; height: 100%; object-fit: cover; }
.gone { padding: 8px; font-size: 13px; color: var(--quiet); }
.grid { display: flex; flex-wrap: wrap; gap: 4px; max-width: 256px; }
.file { display: flex; align-items: center; gap: 10px; min-height: 44px; max-width: 100%; text-align: start; border-radius: 8px; }
.file > span:last-child, .grow { display: flex; flex-direction: column; min-width: 0; }
.filename { overflow: hidden; text-overflow: ellipsis; white-space: nowrap; max-width: 100%; }
.sign { flex: none; width: 36px; height: 36px; border-radius: 10px; display: grid; place-items: center; background: var(--press); }
.newest { position: absolute; right: 14px; bottom: 8px; width: 40px; height: 40px; border-radius: 999px; display: grid; place-items: center; background: var(--surface); color: var(--ink); box-shadow: 0 0 0 1px var(--rule), 0 4px 14px oklch(0.2 0.02 250 / 0.18); }
.badge { position: absolute; top: -6px; right: -4px; min-width: 20px; padding: 0 5px; border-radius: 999px; background: var(--accent); color: var(--on-accent); font-size: 12px; line-height: 20px; font-weight: 600; }
.stopped { align-items: center; justify-content: center; gap: 6px; padding: 24px; text-align: center; }
.stopped h3 { font-size: 17px; font-weight: 640; }
.stopped p { color: var(--quiet); max-width: 40ch; }
.stopped .plain { margin-top: 10px; }
.waiting { justify-content: flex-end; gap: 10px; padding: 16px; }
.waiting i { height: 38px; width: 58%; border-radius: 16px; background: var(--press); animation: wait 1.4s ease-in-out infinite alternate; }
.waiting i:nth-child(2) { width: 40%; align-self: flex-end; }
.waiting i:nth-child(3) { width: 68%; }
@keyframes wait { from { opacity: 0.5; } }
@media (prefers-reduced-motion: reduce) { .waiting i { animation: none; } }
`

const composer = `
.composer { border-top: 1px solid var(--rule); background: var(--surface); padding: 8px; }
.composer.over { box-shadow: inset 0 0 0 2px var(--accent); }
.line { display: flex; align-items: flex-end; gap: 4px; }
textarea { flex: 1; min-width: 0; min-height: var(--target); max-height: 160px; resize: none; padding: 7px 12px; border: 1px solid var(--control); border-radius: 18px; background: var(--ground); overflow-y: auto; scrollbar-width: thin; }
textarea:focus-visible { outline-offset: -2px; }
textarea::placeholder { color: var(--quiet); opacity: 1; }
.answered { display: flex; align-items: center; gap: 4px; padding: 0 4px 6px; }
.answered .quote { flex: 1 1 auto; min-width: 0; margin: 0; }
.tray { display: flex; flex-direction: column; gap: 4px; padding: 2px 4px 8px; max-height: 150px; overflow-y: auto; }
.upload { display: flex; align-items: center; gap: 8px; font-size: 13px; }
.grow { flex: 1; gap: 2px; }
.error { color: var(--error); }
progress { width: 100%; height: 4px; accent-color: var(--accent); }
@container (max-width: 480px) { textarea { padding: 10px 14px; border-radius: 22px; font-size: max(16px, var(--size)); } .view { padding-inline: 10px; } }
`

export const css = (frame + timeline + composer).replace(/\n\s*/g, " ")
