import { Trans, useLingui } from "@lingui/react/macro"
import type { Request } from "@skein-im/client"
import { useAction, useClient } from "@skein-im/react"
import { Choice, ErrorNote, Select, Switch } from "../ui/index.js"
import { Pane } from "./Pane.js"
import type { Group } from "./powers.js"
import { spans, useSpan } from "./times.js"
import s from "./Groups.module.css"

type Change = Omit<Request<"skein.v1.GroupService/UpdateGroup">, "conversation">

const power = (all: boolean): "GROUP_POWER_ALL" | "GROUP_POWER_ADMINS" => (all ? "GROUP_POWER_ALL" : "GROUP_POWER_ADMINS")

/** The switches of a group. Each is set at once. */
export function GroupSettings({ group, onBack, onDone }: { group: Group; onBack: () => void; onDone: (g: Group | undefined) => void }) {
  const { t } = useLingui()
  const client = useClient()
  const span = useSpan()
  const set = useAction(async (change: Change) => onDone((await client.call("skein.v1.GroupService/UpdateGroup", { conversation: group.conversation, ...change })).group))
  const slow = group.slowModeS ?? 0
  const steps = [0, 5, 10, 30, spans.minute, 5 * spans.minute, spans.hour]
  const slowAll = steps.includes(slow) ? steps : [...steps, slow].sort((a, b) => a - b)
  return (
    <Pane title={t`Permissions`} onBack={onBack}>
      {set.error !== undefined && <ErrorNote error={set.error} />}
      <section className={s.block}>
        <h3 className={s.heading}><Trans>All members can</Trans></h3>
        <Switch label={t`Write`} about={t`When off, only admins can write, as in a channel. Everyone can still react.`} checked={group.whoMayPost !== "GROUP_POWER_ADMINS"} onChange={(all) => void set.run({ whoMayPost: power(all) })} disabled={set.pending} />
        <Switch label={t`Add people`} checked={group.whoMayAdd === "GROUP_POWER_ALL"} onChange={(all) => void set.run({ whoMayAdd: power(all) })} disabled={set.pending} />
        <Switch label={t`Pin messages`} checked={group.whoMayPin === "GROUP_POWER_ALL"} onChange={(all) => void set.run({ whoMayPin: power(all) })} disabled={set.pending} />
        <Switch label={t`Mention everyone`} about={t`With @all and @here.`} checked={group.whoMayMentionAll === "GROUP_POWER_ALL"} onChange={(all) => void set.run({ whoMayMentionAll: power(all) })} disabled={set.pending} />
      </section>
      <section className={s.block}>
        <h3 className={s.heading}><Trans>Quiet</Trans></h3>
        <Switch label={t`Mute all for now`} about={t`Only admins can write or react until you turn this off.`} checked={group.mutedAll === true} onChange={(mutedAll) => void set.run({ mutedAll })} disabled={set.pending} />
        <div className={s.gap} />
        <Select label={t`Slow mode: each member can write`} value={String(slow)} disabled={set.pending} onChange={(v) => void set.run({ slowModeS: Number(v) })}
          options={slowAll.map((seconds) => ({ value: String(seconds), label: seconds === 0 ? t`as often as they like` : t`once every ${span(seconds)}` }))} />
      </section>
      <section className={s.form}>
        <Choice label={t`How people join`} value={group.join ?? "JOIN_MODE_INVITATION"} disabled={set.pending} onChange={(join) => void set.run({ join })} options={[
          { value: "JOIN_MODE_INVITATION", label: t`Members add them`, about: t`Invite links are off.` },
          { value: "JOIN_MODE_APPROVAL", label: t`With a link, and an admin lets them in` },
          { value: "JOIN_MODE_OPEN", label: t`With a link, at once` },
        ]} />
        <Choice label={t`New members see`} value={group.history ?? "GROUP_HISTORY_FROM_JOINING"} disabled={set.pending} onChange={(history) => void set.run({ history })} options={[
          { value: "GROUP_HISTORY_FROM_JOINING", label: t`Messages sent after they join` },
          { value: "GROUP_HISTORY_ALL", label: t`All earlier messages, too` },
        ]} />
      </section>
    </Pane>
  )
}
