import { Trans } from "@lingui/react/macro"
import { useTyping } from "@skein-im/react"
import { useScene } from "./context.js"
import { useNames } from "./names.js"
import s from "./Timeline.module.css"

/** Who is typing, in the room below the last message: nothing moves. */
export function TypingLine({ conversation }: { conversation: string }) {
  const { users } = useTyping(conversation)
  const { dm, group } = useScene()
  const names = useNames(users, group)
  const name = (i: number): string => names.inLine(users[i] ?? "")
  return (
    <div aria-live="polite">
      {users.length > 0 && (
        <div className={s.typing}>
          <span className={s.dots} aria-hidden="true"><i /><i /><i /></span>
          {dm ? <Trans>typing …</Trans> : users.length === 1 ? <Trans>{name(0)} is typing …</Trans> : users.length === 2 ? <Trans>{name(0)} and {name(1)} are typing …</Trans> : <Trans>Several people are typing …</Trans>}
        </div>
      )}
    </div>
  )
}
