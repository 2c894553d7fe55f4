import { useLingui } from "@lingui/react/macro"
import { useTitle } from "../conversations/title.js"
import type { Place } from "./place.js"
import { useBadge } from "./useBadge.js"

/** The page's title: where one is, and how much is unread. */
export function usePageTitle(place: Place): void {
  const { t } = useLingui()
  const { name } = useTitle(place.room === "conversation" ? place.conversation : "")
  const names: Record<Place["room"], string> = {
    start: "", conversation: name, people: t`People`, newGroup: t`New group`, join: t`Invitation`, search: t`Search`, settings: t`Settings`, admin: t`Administration`, welcome: t`Welcome`, gallery: t`Components`, nothing: t`Nothing here`,
  }
  useBadge(names[place.room])
}
