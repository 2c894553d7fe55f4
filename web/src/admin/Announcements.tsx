import { Trans, useLingui } from "@lingui/react/macro"
import type { Response } from "@skein-im/client"
import { useAction } from "@skein-im/react"
import { Megaphone, Plus, X } from "lucide-react"
import { useState } from "react"
import { useFieldErrors } from "../settings/fields.js"
import { localMinute, minuteToMs } from "../settings/dates.js"
import { Actions, Form, Reading } from "../settings/parts.js"
import { useLoad } from "../settings/useLoad.js"
import { momentOf } from "../timeline/format.js"
import { Button, Checkbox, Choice, Confirm, Dialog, Empty, Field, IconButton, Tag, TextArea, toast } from "../ui/index.js"
import s from "./Admin.module.css"
import { Page, Refusal } from "./parts.js"
import { useCall } from "./useRole.js"

type One = NonNullable<Response<"skein.v1.AccountService/GetAnnouncements">["announcements"]>[number]
type Level = "ANNOUNCEMENT_LEVEL_INFO" | "ANNOUNCEMENT_LEVEL_WARNING"

/** What everybody here is told. */
export function Announcements() {
  const { t } = useLingui()
  const call = useCall()
  const [making, setMaking] = useState(false)
  const [going, setGoing] = useState<One | undefined>(undefined)
  const all = useLoad(async (signal) => (await call("skein.v1.AccountService/GetAnnouncements", {}, { signal })).announcements ?? [])
  return (
    <Page narrow title={t`Announcements`} about={<Trans>Everybody sees them at once, until they are over or withdrawn.</Trans>} actions={<Button look="primary" icon={<Plus />} onClick={() => setMaking(true)}><Trans>New announcement</Trans></Button>}>
      <Reading of={all}>
        {(list) => list.length === 0 ? <Empty icon={<Megaphone />} title={t`Nothing is announced`}><Trans>Tell everybody of maintenance, of news, of new rules.</Trans></Empty> : (
          <ul className={s.reports} aria-label={t`Announcements`}>
            {list.map((a) => (
              <li key={a.id} className={s.card}>
                <p className={s.tags}>{a.level === "ANNOUNCEMENT_LEVEL_WARNING" ? <Tag tone="warning"><Trans>Warning</Trans></Tag> : <Tag><Trans>Information</Trans></Tag>}{a.dismissible !== true && <Tag><Trans>stays</Trans></Tag>}{(a.texts ?? []).map((x) => <Tag key={x.language}>{x.language}</Tag>)}</p>
                <p className={s.lineText}>{a.text}</p>
                <div className={s.cardFoot}>
                  <span className={s.below}>{momentOf(Number(a.createdAtMs ?? 0))} – {Number(a.untilMs ?? 0) === 0 ? <Trans>until it is withdrawn</Trans> : momentOf(Number(a.untilMs))}</span>
                  <Button look="quiet" onClick={() => setGoing(a)}><Trans>Withdraw…</Trans></Button>
                </div>
              </li>
            ))}
          </ul>
        )}
      </Reading>
      {making && <New onClose={() => setMaking(false)} onDone={() => { setMaking(false); all.reload(); toast(t`Everybody sees it now.`) }} />}
      <Confirm open={going !== undefined} onClose={() => setGoing(undefined)} danger title={t`Withdraw this announcement?`} action={t({ context: "take down", message: "Withdraw" })}
        onConfirm={async () => { await call("skein.v1.AdminService/WithdrawAnnouncement", { id: going?.id ?? "" }); all.reload() }}>
        <Trans>It vanishes for everybody at once.</Trans>
      </Confirm>
    </Page>
  )
}

function New({ onClose, onDone }: { onClose: () => void; onDone: () => void }) {
  const { t } = useLingui()
  const call = useCall()
  const [level, setLevel] = useState<Level>("ANNOUNCEMENT_LEVEL_INFO")
  const [text, setText] = useState("")
  const [texts, setTexts] = useState<readonly { language: string; text: string }[]>([])
  const [ends, setEnds] = useState(true)
  const [until, setUntil] = useState(() => localMinute(Date.now() + 7 * 86_400_000))
  const [stays, setStays] = useState(false)
  const save = useAction(async () => {
    await call("skein.v1.AdminService/Announce", { level, text: text.trim(), texts: texts.map((x) => ({ language: x.language.trim(), text: x.text.trim() })), untilMs: String(ends ? minuteToMs(until) ?? 0 : 0), stays })
    onDone()
  })
  const errors = useFieldErrors(save.error, "text", "untilMs", "language", "texts")
  const change = (i: number, to: Partial<{ language: string; text: string }>): void => setTexts((was) => was.map((x, n) => (n === i ? { ...x, ...to } : x)))
  return (
    <Dialog open onClose={onClose} title={t`New announcement`}>
      <Form onSubmit={() => void save.run()}>
        <TextArea label={t`Text`} value={text} onChange={(e) => setText(e.currentTarget.value)} required maxLength={1000} autoFocus error={errors.of("text")} />
        <Choice label={t`How it looks`} value={level} onChange={setLevel} options={[{ value: "ANNOUNCEMENT_LEVEL_INFO", label: t`Information` }, { value: "ANNOUNCEMENT_LEVEL_WARNING", label: t`Warning`, about: t`Something that people should act on, or that will disturb them.` }]} />
        {texts.map((x, i) => (
          <div key={i} className={s.column} style={{ gap: "var(--s2)" }}>
            <Field label={t`Language`} value={x.language} onChange={(e) => change(i, { language: e.currentTarget.value })} placeholder="zh-CN" required maxLength={35} after={<IconButton small tooltip={false} label={t`Remove`} onClick={() => setTexts((was) => was.filter((_, n) => n !== i))}><X /></IconButton>} error={errors.of("language") ?? errors.of("texts")} />
            <TextArea label={t`The same in this language`} value={x.text} onChange={(e) => change(i, { text: e.currentTarget.value })} required maxLength={1000} />
          </div>
        ))}
        {texts.length < 10 && <Button look="quiet" icon={<Plus />} onClick={() => setTexts((was) => [...was, { language: was.length === 0 ? "zh-CN" : "", text: "" }])}><Trans>The same in another language</Trans></Button>}
        <Checkbox label={t`It ends by itself`} checked={ends} onChange={setEnds} />
        {ends && <Field label={t`Until`} type="datetime-local" value={until} onChange={(e) => setUntil(e.currentTarget.value)} required error={errors.of("untilMs")} />}
        <Checkbox label={t`People can’t put it away`} checked={stays} onChange={setStays} />
        <Refusal error={errors.rest} />
        <Actions><Button onClick={onClose}><Trans>Cancel</Trans></Button><Button look="primary" submit busy={save.pending} disabled={text.trim() === ""}><Trans>Tell everybody</Trans></Button></Actions>
      </Form>
    </Dialog>
  )
}
