import { Trans, useLingui } from "@lingui/react/macro"
import { useClient } from "@skein-im/react"
import { useState } from "react"
import { DeviceRow, newestFirst, type Session } from "../settings/Devices.js"
import { Reading, Row, Section } from "../settings/parts.js"
import { useLoad } from "../settings/useLoad.js"
import { nameOf } from "../timeline/names.js"
import { Button, Confirm } from "../ui/index.js"
import { may, mayActOn } from "./access.js"
import type { Account } from "./accounts.js"
import { useCall, useRole } from "./useRole.js"

/** Where somebody is logged in, and how that ends. */
export function UserSessions({ of, onChanged }: { of: Account; onChanged: () => void }) {
  const { t } = useLingui()
  const call = useCall()
  const role = useRole()
  const id = of.user?.id ?? ""
  const mine = useClient().user === id
  const acts = may(role, "moderate") && (mine || mayActOn(role, of.role))
  const all = useLoad(async (signal) => newestFirst((await call("skein.v1.AdminService/ListUserSessions", { user: id }, { signal })).sessions ?? []), `${id} ${of.sessions ?? 0} ${of.state}`)
  const [ending, setEnding] = useState<Session | "all" | undefined>(undefined)
  const name = nameOf(of.user)
  const device = ending === "all" || ending === undefined ? "" : ending.device?.name || ending.client || t`A device`
  return (
    <>
      <Reading of={all}>
        {(sessions) => (
          <Section title={t`Devices`}>
            {sessions.length === 0 && <Row title={<Trans>Not logged in on any device</Trans>} />}
            {sessions.map((d) => <DeviceRow key={d.id} of={d}>{acts && <Button look="quiet" onClick={() => setEnding(d)}><Trans>End</Trans></Button>}</DeviceRow>)}
            {acts && sessions.length > 1 && <Row title={<Trans>All devices</Trans>}><Button onClick={() => setEnding("all")}><Trans>End all</Trans></Button></Row>}
          </Section>
        )}
      </Reading>
      <Confirm open={ending !== undefined} onClose={() => setEnding(undefined)} danger title={ending === "all" ? t`Log ${name} out on all devices?` : t`Log ${name} out on this device?`} action={t`Log out`}
        onConfirm={async () => {
          await call("skein.v1.AdminService/KickUser", { user: id, ...(ending === "all" || ending === undefined ? {} : { session: ending.id ?? "" }) })
          all.reload()
          onChanged()
        }}>
        {device === "" ? <Trans>All connections end at once. They can log in again with their password.</Trans> : <Trans>“{device}” is disconnected at once. They can log in again with their password.</Trans>}
      </Confirm>
    </>
  )
}
