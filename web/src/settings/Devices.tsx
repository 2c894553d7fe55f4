import { Plural, Trans, useLingui } from "@lingui/react/macro"
import type { Response } from "@skein-im/client"
import { useClient } from "@skein-im/react"
import { AppWindow, Laptop, Smartphone, Tablet } from "lucide-react"
import { useState } from "react"
import { logOut } from "../client.js"
import { dayName, timeOf } from "../timeline/format.js"
import { Button, Confirm, Tag } from "../ui/index.js"
import { Page, Reading, Row, Section } from "./parts.js"
import { useLoad } from "./useLoad.js"

export type Session = NonNullable<Response<"skein.v1.AccountService/ListSessions">["sessions"]>[number]

/** Where I am logged in, and how that ends. */
export function Devices() {
  const { t } = useLingui()
  const client = useClient()
  const [ending, setEnding] = useState<Session | "others" | undefined>(undefined)
  const all = useLoad(async (signal) => newestFirst((await client.call("skein.v1.AccountService/ListSessions", {}, { signal })).sessions ?? []))
  const end = async (what: Session | "others"): Promise<void> => {
    if (what !== "others" && what.current === true) return logOut()
    const which = what === "others" ? (all.data ?? []).filter((d) => d.current !== true) : [what]
    for (const d of which) await client.call("skein.v1.AccountService/RevokeSession", { session: d.id ?? "" })
    all.set((was) => was.filter((d) => !which.includes(d)))
  }
  return (
    <Page title={t`Devices`} about={<Trans>Where you are logged in. If you don’t recognise one, log it out and change your password.</Trans>}>
      <Reading of={all}>
        {(sessions) => {
          const here = sessions.filter((d) => d.current === true)
          const others = sessions.filter((d) => d.current !== true)
          return (
            <>
              <Section title={t`This device`}>
                {here.map((d) => <DeviceRow key={d.id} of={d}><Button onClick={() => setEnding(d)}><Trans>Log out</Trans></Button></DeviceRow>)}
              </Section>
              <Section title={t`Other devices`}>
                {others.length === 0 && <Row title={<Trans>None</Trans>} about={<Trans>You are logged in here only.</Trans>} />}
                {others.map((d) => <DeviceRow key={d.id} of={d}><Button look="quiet" onClick={() => setEnding(d)}><Trans>End</Trans></Button></DeviceRow>)}
                {others.length > 1 && <Row title={<Plural value={others.length} one="# other device" other="# other devices" />}><Button onClick={() => setEnding("others")}><Trans>End all others</Trans></Button></Row>}
              </Section>
            </>
          )
        }}
      </Reading>
      <Confirm open={ending !== undefined} onClose={() => setEnding(undefined)} danger action={ending === "others" ? t`End all others` : t`Log out`}
        title={ending === "others" ? t`Log out all other devices?` : ending?.current === true ? t`Log out here?` : t`Log out this device?`}
        onConfirm={() => (ending === undefined ? undefined : end(ending))}>
        {ending !== "others" && ending?.current === true ? <Trans>Messages stored in this browser are removed.</Trans> : <Trans>It needs the password to log in again.</Trans>}
      </Confirm>
    </Page>
  )
}

const seen = (d: Session): number => Number(d.lastSeenAtMs ?? d.createdAtMs ?? 0)

export function newestFirst(all: readonly Session[]): readonly Session[] {
  return [...all].sort((a, b) => seen(b) - seen(a))
}

const signs = { DEVICE_CLASS_PHONE: <Smartphone />, DEVICE_CLASS_TABLET: <Tablet />, DEVICE_CLASS_DESKTOP: <Laptop />, DEVICE_CLASS_WEB: <AppWindow /> }

/** A session: what and where it is, and when it was last seen. */
export function DeviceRow({ of, children }: { of: Session; children?: React.ReactNode }) {
  const { t } = useLingui()
  const sign = signs[(of.device?.class ?? "") as keyof typeof signs] ?? <Laptop />
  const at = seen(of)
  const day = dayName(at)
  const when = of.current === true ? t`now` : at === 0 ? "" : t`last seen: ${day}, ${timeOf(at)}`
  const facts = [of.client, of.lastAddress, when].filter((x) => (x ?? "") !== "").join(" · ")
  return (
    <Row icon={sign} title={of.device?.name || of.client || t`A device`} tag={of.current === true ? <Tag tone="accent"><Trans>This one</Trans></Tag> : undefined} about={facts}>
      {children}
    </Row>
  )
}
