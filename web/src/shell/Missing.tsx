import { t } from "@lingui/core/macro"
import { Empty } from "../ui/index.js"

/** There is nothing at this address. */
export function Missing() {
  return <Empty title={t`Page not found`} />
}
