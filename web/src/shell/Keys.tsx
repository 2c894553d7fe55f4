import { Trans, useLingui } from "@lingui/react/macro"
import type { ReactNode } from "react"
import { Dialog } from "../ui/index.js"
import { open as show } from "./switcher.js"
import s from "./Keys.module.css"

const command = /Mac|iP/.test(navigator.userAgent) ? "⌘" : "Ctrl"

/** The keys of the app. */
export function Keys() {
  const { t } = useLingui()
  const groups: { title: string; keys: [ReactNode, string[]][] }[] = [
    { title: t`Everywhere`, keys: [
      [<Trans>Jump to a chat, person or page</Trans>, [command, "K"]], [<Trans>Next / previous pane</Trans>, ["F6", "⇧ F6"]],
      [<Trans>Next / previous chat</Trans>, ["Alt ↓", "Alt ↑"]], [<Trans>Go back or close</Trans>, ["Esc"]], [<Trans>Keyboard shortcuts</Trans>, ["?"]],
    ] },
    { title: t`In a conversation`, keys: [
      [<Trans>Send</Trans>, ["Enter"]], [<Trans>New line</Trans>, ["⇧ Enter"]], [<Trans>Edit your last message</Trans>, ["↑"]], [<Trans>Mention someone</Trans>, ["@"]], [<Trans>Emoji</Trans>, [":"]], [<Trans>Commands</Trans>, ["/"]],
    ] },
    { title: t`On a message`, keys: [[<Trans>Previous / next message</Trans>, ["↑", "↓"]], [<Trans>Reply</Trans>, ["R"]], [<Trans>Reply in thread</Trans>, ["T"]], [<Trans>Edit</Trans>, ["E"]], [<Trans>Copy the text</Trans>, ["C"]], [<Trans>Forward</Trans>, ["F"]], [<Trans>Pin</Trans>, ["P"]], [<Trans>Select</Trans>, ["S"]], [<Trans>Delete for me</Trans>, ["Delete"]], [<Trans>More</Trans>, ["⇧ F10"]]] },
  ]
  return (
    <Dialog open onClose={() => show(undefined)} title={t`Keyboard shortcuts`} size="m">
      <div className={s.groups}>
        {groups.map((g) => (
          <section key={g.title}>
            <h3 className={s.title}>{g.title}</h3>
            <dl className={s.list}>
              {g.keys.map(([what, keys]) => <div key={keys.join()} className={s.line}><dt>{what}</dt><dd className={s.keys}>{keys.map((k) => <kbd key={k} className={s.key}>{k}</kbd>)}</dd></div>)}
            </dl>
          </section>
        ))}
      </div>
    </Dialog>
  )
}
