import { Trans, useLingui } from "@lingui/react/macro"
import { useClient, useProfiles } from "@skein-im/react"
import { UserX } from "lucide-react"
import { Link } from "wouter"
import { Reading } from "../settings/parts.js"
import { useLoad } from "../settings/useLoad.js"
import { momentOf, sizeOf } from "../timeline/format.js"
import { nameOf } from "../timeline/names.js"
import { PersonAvatar } from "../timeline/PersonAvatar.js"
import { Empty, Note, Tag } from "../ui/index.js"
import { may } from "./access.js"
import { accountOf, type Account } from "./accounts.js"
import s from "./Admin.module.css"
import { Facts, Page, RoleTag, StateTag, When } from "./parts.js"
import { UserActs } from "./UserActs.js"
import { UserSessions } from "./UserSessions.js"
import { useCall, useRole } from "./useRole.js"

/** An account: what it is, where it is logged in, and what this role may do with it. */
export function UserPage({ id }: { id: string }) {
  const { t } = useLingui()
  const call = useCall()
  const profiles = useProfiles()
  const account = useLoad(async (signal) => {
    const a = await accountOf(call, id, signal)
    if (a?.user !== undefined) profiles.put([a.user])
    return { a }
  }, id)
  return (
    <Page narrow title={t`User`} back="/admin/users">
      <Reading of={account}>
        {({ a }) => (a === undefined ? <Empty icon={<UserX />} title={t`There is no such user`} /> : <One of={a} onChanged={account.reload} />)}
      </Reading>
    </Page>
  )
}

function One({ of, onChanged }: { of: Account; onChanged: () => void }) {
  const { t } = useLingui()
  const client = useClient()
  const role = useRole()
  const user = of.user ?? { id: "" }
  const gone = of.state === "ACCOUNT_STATE_DELETED"
  return (
    <div className={s.column}>
      <section className={s.card} aria-label={t`Account`}>
        <div className={s.identity}>
          <PersonAvatar user={user.id} size="l" />
          <div className={s.identityWords}>
            <span className={s.identityName}><bdi>{nameOf(of.user)}</bdi><RoleTag role={of.role} /><StateTag of={of} />{user.id === client.user && <Tag><Trans>You</Trans></Tag>}</span>
            {(of.user?.username ?? "") !== "" && <span className={s.below}>@{of.user?.username}</span>}
          </div>
        </div>
        <State of={of} />
        <Facts of={[
          [t`Id`, <span key="id" className={s.mono}>{user.id}</span>],
          [t`Created`, momentOf(Number(of.createdAtMs ?? 0))],
          [t`Last seen`, Number(of.lastSeenAtMs ?? 0) === 0 ? t`Never` : <When key="seen" ms={Number(of.lastSeenAtMs)} />],
          [t`Storage`, Number(of.storageBytes ?? 0) === 0 ? "—" : sizeOf(Number(of.storageBytes))],
          [t`Login`, gone ? "—" : of.password === true ? (of.totp === true ? t`Password and code` : t`Password`) : t`Without a password here`],
        ]} />
        <p className={s.below}>
          {may(role, "audit") && <><Link to={`/admin/audit?target=${encodeURIComponent(user.id)}`}><Trans>What was done to them</Trans></Link> · <Link to={`/admin/audit?by=${encodeURIComponent(user.id)}`}><Trans>What they did</Trans></Link></>}
          {may(role, "audit") && may(role, "moderate") && " · "}
          {may(role, "moderate") && <Link to={`/admin/reports?state=all&author=${encodeURIComponent(user.id)}`}><Trans>Reports about them</Trans></Link>}
        </p>
      </section>
      {!gone && <UserSessions of={of} onChanged={onChanged} />}
      <UserActs of={of} onChanged={onChanged} />
    </div>
  )
}

/** Why nobody comes in as they. */
function State({ of }: { of: Account }) {
  const until = Number(of.bannedUntilMs ?? 0)
  const reason = of.banReason ?? ""
  if (of.state === "ACCOUNT_STATE_DISABLED") return <Note tone="warning"><Trans>Disabled: nobody can log in as this user until the account is enabled again.</Trans></Note>
  if (of.state !== "ACCOUNT_STATE_BANNED") return null
  return (
    <Note tone="warning">
      {until === 0 ? <Trans>Banned forever.</Trans> : <Trans>Banned until {momentOf(until)}.</Trans>} {reason !== "" && <Trans>Reason: {reason}</Trans>}
    </Note>
  )
}
