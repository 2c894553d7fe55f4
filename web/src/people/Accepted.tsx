import { t } from "@lingui/core/macro"
import { useClient } from "@skein-im/react"
import { useEffect, useRef } from "react"
import { useLocation } from "wouter"
import { nameOf } from "../timeline/names.js"
import { toast } from "../ui/index.js"
import { useBook } from "./book.js"
import { accepted } from "./shelves.js"

/** Says at once when somebody accepted the user's request. Shows nothing itself. */
export function Accepted() {
  const client = useClient()
  const [, go] = useLocation()
  const { contacts } = useBook()
  const before = useRef(contacts)
  useEffect(() => {
    const now = accepted(before.current, contacts)
    before.current = contacts
    for (const c of now) {
      const name = nameOf(c.user, c.remark)
      toast(t`${name} accepted your contact request.`, { action: { label: t`Say hello`, run: () => go(`/c/${client.dm(c.user.id).id}`) } })
    }
  }, [contacts, client, go])
  return null
}
