import { Trans, useLingui } from "@lingui/react/macro"
import { SkeinError } from "@skein-im/client"
import { useAction, useClient } from "@skein-im/react"
import { Field, ErrorNote, Note, Select, Switch } from "../ui/index.js"
import type { Settings } from "../push.js"
import { Reading, Section } from "./parts.js"
import { minutesOf, minuteText, zoneHere } from "./quiet.js"
import { useLoad } from "./useLoad.js"
import s from "./Settings.module.css"

export const levels = ["PUSH_LEVEL_ALL", "PUSH_LEVEL_MENTIONS", "PUSH_LEVEL_NONE"] as const
export type Level = (typeof levels)[number]
const night = { quietFrom: 22 * 60, quietUntil: 7 * 60 }

/** For what all browsers of the user are woken, and what they are told. */
export function Pushes() {
  const client = useClient()
  const now = useLoad((signal) => client.call("skein.v1.PushService/GetPushSettings", {}, { signal }).then((r) => r.settings ?? {}))
  if (now.error instanceof SkeinError && now.error.code === "unimplemented") return <Note><Trans>This server sends no push notifications. You are notified while the app is open.</Trans></Note>
  return <Reading of={now}>{(settings) => <Choices settings={settings} onChanged={now.set} />}</Reading>
}

function Choices({ settings, onChanged }: { settings: Settings; onChanged: (to: Settings) => void }) {
  const { t } = useLingui()
  const client = useClient()
  const set = useAction(async (change: Settings) => {
    const to = { ...settings, ...change }
    onChanged(to)
    try {
      await client.call("skein.v1.PushService/SetPushSettings", { settings: to })
    } catch (e) {
      onChanged(settings)
      throw e
    }
  })
  const options = [
    { value: levels[0], label: t`every message` },
    { value: levels[1], label: t`mentions` },
    { value: levels[2], label: t`nothing` },
  ] as const
  const level = (of: string | undefined): Level => levels.find((l) => l === of) ?? levels[0]
  const from = settings.quietFrom ?? 0
  const until = settings.quietUntil ?? 0
  const quiet = from !== until
  const time = (change: (minutes: number) => Settings) => (text: string): void => {
    const m = minutesOf(text)
    if (m !== undefined) void set.run(change(m))
  }
  return (
    <>
      <Section title={t`On all your devices`} about={<Trans>A device is notified only if none of your devices received the message within a few seconds.</Trans>}>
        <div className={s.pad}>
          {set.error !== undefined && <ErrorNote error={set.error} />}
          <Select label={t`In direct chats for`} value={level(settings.direct)} options={options} onChange={(direct) => void set.run({ direct })} />
          <Select label={t`In groups for`} value={level(settings.groups)} options={options} onChange={(groups) => void set.run({ groups })} />
          <Switch label={t`Mentions in muted groups`} checked={settings.muteMentions !== true} onChange={(on) => void set.run({ muteMentions: !on })} />
          <Switch label={t`Show who wrote, and what`} about={t`When off, notifications only say that there is a new message.`} checked={settings.hideText !== true} onChange={(on) => void set.run({ hideText: !on })} />
        </div>
      </Section>
      <Section title={t`Quiet hours`} about={<Trans>Your devices stay quiet during these hours. Messages are there when you look.</Trans>}>
        <div className={s.pad}>
          <Switch label={t`Quiet hours`} checked={quiet} onChange={(on) => void set.run(on ? { ...night, quietZone: zoneHere() } : { quietFrom: 0, quietUntil: 0 })} />
          {quiet && (
            <>
              <Field label={t`From`} type="time" value={minuteText(from)} onChange={(e) => time((quietFrom) => ({ quietFrom, quietZone: zoneHere() }))(e.currentTarget.value)} />
              <Field label={t`Until`} type="time" value={minuteText(until)} hint={settings.quietZone} onChange={(e) => time((quietUntil) => ({ quietUntil, quietZone: zoneHere() }))(e.currentTarget.value)} />
            </>
          )}
        </div>
      </Section>
    </>
  )
}
