import { useLingui } from "@lingui/react/macro"
import { Check, CheckCheck, CircleAlert, Clock } from "lucide-react"
import type { Message } from "@skein-im/client"
import { cx } from "../ui/index.js"
import s from "./Message.module.css"

/** Where an own message stands: it waits, is stored, came to the other's device, was read, or failed. */
export function Status({ message: m }: { message: Message }) {
  const { t } = useLingui()
  switch (m.status) {
    case "pending":
      return <span className={s.status} role="img" aria-label={t`Waiting to be sent`} title={t`Waiting to be sent`}><Clock /></span>
    case "sent":
      return <span className={s.status} role="img" aria-label={t`Sent`} title={t`Sent`}><Check /></span>
    case "delivered":
      return <span className={s.status} role="img" aria-label={t`Delivered`} title={t`Delivered`}><CheckCheck /></span>
    case "read":
      return <span className={cx(s.status, s.read)} role="img" aria-label={t`Read`} title={t`Read`}><CheckCheck /></span>
    case "failed":
      return <span className={cx(s.status, s.failed)} role="img" aria-label={t`Not sent`} title={t`Not sent`}><CircleAlert /></span>
    default:
      return null
  }
}
