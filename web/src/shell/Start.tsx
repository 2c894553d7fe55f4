import { Trans, useLingui } from "@lingui/react/macro"
import { Sparkles, UserPlus } from "lucide-react"
import { useLocation } from "wouter"
import { useConversations } from "@skein-im/react"
import { may } from "../admin/access.js"
import { useRole } from "../admin/useRole.js"
import { Brand } from "../ui/Brand.js"
import { Button, Empty } from "../ui/index.js"
import { openSwitcher } from "./switcher.js"

/** Nothing is open yet. */
export function Start() {
  const { t } = useLingui()
  const [, go] = useLocation()
  const none = useConversations().length === 0
  const admin = may(useRole(), "manage")
  if (none && admin) {
    return (
      <Empty icon={<Brand />} title={t`This server is yours`} action={<Button look="primary" icon={<Sparkles />} onClick={() => go("/welcome")}><Trans>Set it up</Trans></Button>}>
        <Trans>Three short steps, and others can join you.</Trans>
      </Empty>
    )
  }
  if (none) {
    return (
      <Empty icon={<Brand />} title={t`Find people you know`} action={<Button look="primary" icon={<UserPlus />} onClick={() => go("/people")}><Trans>Find people</Trans></Button>}>
        <Trans>Search by name, or ask someone for their user name.</Trans>
      </Empty>
    )
  }
  return <Empty icon={<Brand />} title={t`Select a conversation`} action={<Button look="quiet" onClick={openSwitcher}><Trans>Jump to…</Trans></Button>}><Trans>Press ? for keyboard shortcuts.</Trans></Empty>
}
