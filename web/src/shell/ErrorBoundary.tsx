import { Trans } from "@lingui/react/macro"
import { CloudLightning } from "lucide-react"
import { Component, type ErrorInfo, type ReactNode } from "react"
import { Button, Empty } from "../ui/index.js"
import { t } from "@lingui/core/macro"

interface Props {
  children: ReactNode
  /** Of the whole page: then only a reload helps. Otherwise of one pane, which can be tried again. */
  whole?: boolean
  /** Another value is another chance. */
  of?: string
}

/** Keeps a mistake of one part from taking the rest along. */
export class ErrorBoundary extends Component<Props, { error: unknown }> {
  override state: { error: unknown } = { error: undefined }

  static getDerivedStateFromError(error: unknown): { error: unknown } {
    return { error }
  }

  override componentDidCatch(error: Error, info: ErrorInfo): void {
    console.error(error, info.componentStack)
  }

  override componentDidUpdate(before: Props): void {
    if (before.of !== this.props.of && this.state.error !== undefined) this.setState({ error: undefined })
  }

  override render(): ReactNode {
    if (this.state.error === undefined) return this.props.children
    const again = (): void => (this.props.whole ? location.reload() : this.setState({ error: undefined }))
    return (
      <Empty icon={<CloudLightning />} title={t`Something went wrong here`} action={<Button look="primary" onClick={again}>{this.props.whole ? <Trans>Reload</Trans> : <Trans>Try again</Trans>}</Button>}>
        <Trans>Your messages are safe. If this keeps happening, tell the administrator what you did.</Trans>
      </Empty>
    )
  }
}
