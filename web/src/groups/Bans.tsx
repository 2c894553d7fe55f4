import { Trans, useLingui } from "@lingui/react/macro"
import { Ban as BanIcon } from "lucide-react"
import { useEffect, useState } from "react"
import type { Response } from "@skein-im/client"
import { useAction, useClient, useEvent } from "@skein-im/react"
import { Button, Empty, ErrorNote, Loading } from "../ui/index.js"
import { Person } from "../people/Person.js"
import { Pane } from "./Pane.js"
import type { Group } from "./powers.js"
import { useDay } from "./times.js"
import s from "./Groups.module.css"

type Ban = NonNullable<Response<"skein.v1.GroupService/ListBans">["bans"]>[number]

/** Who is kept out of a group, until when and why. */
export function Bans({ group, onBack }: { group: Group; onBack: () => void }) {
  const { t } = useLingui()
  const client = useClient()
  const day = useDay()
  const { conversation } = group
  const [bans, setBans] = useState<readonly Ban[] | undefined>(undefined)
  const load = useAction(async () => setBans((await client.call("skein.v1.GroupService/ListBans", { conversation, limit: 1000 })).bans ?? []))
  const { run } = load
  useEffect(() => void run(), [run])
  useEvent("group", (e) => {
    if (e.conversation === conversation && (e.type === "MEMBER_BANNED" || e.type === "MEMBER_UNBANNED" || e.type === "MEMBER_REMOVED")) void run()
  })
  const end = useAction(async (user: string) => {
    await client.call("skein.v1.GroupService/UnbanMember", { conversation, user })
    await run()
  })
  const about = (b: Ban): string => {
    const until = (b.untilMs ?? "0") === "0" ? t`forever` : t`until ${day(b.untilMs)}`
    return b.reason ? `${until} · ${b.reason}` : until
  }
  return (
    <Pane title={t`Banned`} onBack={onBack}>
      {(load.error ?? end.error) !== undefined && <ErrorNote error={load.error ?? end.error} onRetry={() => void run()} />}
      {bans === undefined && load.error === undefined && <Loading />}
      {bans?.length === 0 && <Empty icon={<BanIcon />} title={t`Nobody is banned`}><Trans>People you ban can’t be added or join with a link. You ban someone in the list of members.</Trans></Empty>}
      <ul className={s.list}>
        {bans?.map((b) => <Person key={b.user} id={b.user} presence={false} about={about(b)} end={<Button disabled={end.pending} onClick={() => void end.run(b.user)}><Trans>End the ban</Trans></Button>} />)}
      </ul>
    </Pane>
  )
}
