import { Trans, useLingui } from "@lingui/react/macro"
import type { Response } from "@skein-im/client"
import { Search, UsersRound } from "lucide-react"
import { dayName } from "../timeline/format.js"
import { Avatar, Empty, Field } from "../ui/index.js"
import s from "./Admin.module.css"
import { Page, PersonLink } from "./parts.js"
import { usePaged, useQuery, useTyped } from "./query.js"
import { Table, type Column } from "./Table.js"
import { useCall } from "./useRole.js"

export type Group = NonNullable<Response<"skein.v1.AdminService/ListGroups">["groups"]>[number]

const perPage = 50

/** All groups, whoever is in them. */
export function Groups() {
  const { t } = useLingui()
  const call = useCall()
  const query = useQuery()
  const [typed, setTyped] = useTyped("q")
  const q = query.get("q")
  const of = usePaged<Group>(q, async (cursor, signal) => {
    const page = await call("skein.v1.AdminService/ListGroups", { limit: perPage, cursor, query: q.slice(0, 64) }, { signal })
    return { rows: page.groups ?? [], next: page.next ?? "" }
  })
  return (
    <Page title={t`Groups`} about={<Trans>Who is in them, and whose they are. Nothing of what is said in them is shown here.</Trans>}>
      <Field label={t`Find groups`} bare type="search" before={<Search aria-hidden="true" />} placeholder={t`Part of the name, or the id`} maxLength={64} value={typed} onChange={(e) => setTyped(e.currentTarget.value)} />
      <Table label={t`Groups`} of={of} columns={useColumns()} keyOf={(g) => g.conversation ?? ""} to={(g) => `/admin/groups/${g.conversation ?? ""}`}
        empty={q !== "" ? <Empty icon={<Search />} title={t`No group with that name`} /> : <Empty icon={<UsersRound />} title={t`No groups yet`} />} />
    </Page>
  )
}

function useColumns(): readonly Column<Group>[] {
  const { t } = useLingui()
  return [
    {
      key: "group", head: t`Group`, wide: true, cell: (g) => (
        <span className={s.who}>
          <Avatar id={g.conversation ?? ""} name={g.name ?? ""} size="s" group />
          <span className={s.whoWords}><span className={s.whoName}><bdi className={s.cut}>{g.name}</bdi></span></span>
        </span>
      ),
    },
    { key: "owner", head: t({ context: "of a group", message: "Owner" }), from: "s", cell: (g) => ((g.owner ?? "") === "" ? <span className={s.faint}>—</span> : <PersonLink user={g.owner ?? ""} />) },
    { key: "members", head: t`Members`, number: true, cell: (g) => g.members ?? 0 },
    { key: "created", head: t`Created`, from: "m", cell: (g) => <span className={s.when}>{dayName(Number(g.createdAtMs ?? 0))}</span> },
  ]
}
