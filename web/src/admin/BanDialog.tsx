import { Trans, useLingui } from "@lingui/react/macro"
import { useAction } from "@skein-im/react"
import { useState } from "react"
import { localMinute, minuteToMs } from "../settings/dates.js"
import { useFieldErrors } from "../settings/fields.js"
import { Actions, Form } from "../settings/parts.js"
import { Button, Dialog, Field, Select } from "../ui/index.js"
import { banUntil, terms, type Term } from "./accounts.js"
import { Refusal } from "./parts.js"
import { useCall } from "./useRole.js"

/** Nobody comes in as somebody, for a time or for ever. */
export function BanDialog({ user, name, onClose, onDone }: { user: string; name: string; onClose: () => void; onDone: () => void }) {
  const { t } = useLingui()
  const call = useCall()
  const [term, setTerm] = useState<Term>("day")
  const [until, setUntil] = useState(() => localMinute(Date.now() + terms.week))
  const [reason, setReason] = useState("")
  const [late, setLate] = useState(false)
  const ban = useAction(async () => {
    const untilMs = banUntil(term, minuteToMs(until), Date.now())
    setLate(untilMs === undefined)
    if (untilMs === undefined) return
    await call("skein.v1.AdminService/BanUser", { user, untilMs: String(untilMs), reason: reason.trim() })
    onDone()
  })
  const errors = useFieldErrors(ban.error, "reason", "untilMs")
  return (
    <Dialog open onClose={onClose} title={t`Ban ${name}?`} size="s" about={t`All their sessions end at once, on all devices, and scheduled messages are not sent. Their messages stay.`}>
      <Form onSubmit={() => void ban.run()}>
        <Select label={t`For how long`} value={term} onChange={setTerm} options={[
          { value: "hour", label: t`An hour` }, { value: "day", label: t`A day` }, { value: "week", label: t`A week` }, { value: "month", label: t`30 days` }, { value: "until", label: t`Until a time I choose` }, { value: "ever", label: t`Forever` },
        ]} />
        {term === "until" && <Field label={t`Until`} type="datetime-local" value={until} onChange={(e) => setUntil(e.currentTarget.value)} required error={late ? t`Choose a time that is still to come.` : errors.of("untilMs")} />}
        <Field label={t`Reason`} value={reason} onChange={(e) => setReason(e.currentTarget.value)} maxLength={200} hint={t`They read it when they try to log in.`} error={errors.of("reason")} autoFocus />
        <Refusal error={errors.rest} denied={t`You can’t ban this user: their role is no lesser one than yours, or they are the last owner.`} />
        <Actions><Button onClick={onClose}><Trans>Cancel</Trans></Button><Button look="danger" submit busy={ban.pending}><Trans>Ban</Trans></Button></Actions>
      </Form>
    </Dialog>
  )
}
