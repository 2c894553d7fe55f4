// The pages of the site: where each stands in the repository, its address, and its name in the
// navigation. What is not here is linked to at the forge.

/** What the repository's files are linked to that are no page. */
export const forge = "https://github.com/skein-im/skein"

/** @type {{ section: string, pages: { from: string, to: string, title: string }[] }[]} */
export const sections = [
  {
    section: "Begin",
    pages: [
      { from: "README.md", to: "overview.md", title: "What Skein is" },
      { from: "docs/install.md", to: "install.md", title: "Install" },
      { from: "docs/user-guide.md", to: "user-guide.md", title: "User guide" },
      { from: "docs/features.md", to: "features.md", title: "Features" },
      { from: "docs/promise.md", to: "promise.md", title: "The promise at its edges" },
      { from: "docs/comparison.md", to: "comparison.md", title: "Comparison" },
      { from: "docs/glossary.md", to: "glossary.md", title: "Glossary" },
    ],
  },
  {
    section: "Look after it",
    pages: [
      { from: "docs/administration.md", to: "administration.md", title: "Administration" },
      { from: "docs/operations.md", to: "operations.md", title: "Operations" },
      { from: "docs/skein.toml", to: "settings.md", title: "Settings" },
      { from: "docs/login-providers.md", to: "login-providers.md", title: "Login providers" },
      { from: "docs/push.md", to: "push.md", title: "Push" },
      { from: "docs/export.md", to: "export.md", title: "Exports" },
      { from: "docs/migration.md", to: "migration.md", title: "Moving here" },
      { from: "docs/permissions.md", to: "permissions.md", title: "Permissions" },
      { from: "docs/blocks.md", to: "blocks.md", title: "Blocks" },
      { from: "docs/abuse.md", to: "abuse.md", title: "Abuse" },
      { from: "docs/performance.md", to: "performance.md", title: "Performance" },
      { from: "docs/scale.md", to: "scale.md", title: "Scale" },
    ],
  },
  {
    section: "Build with it",
    pages: [
      { from: "docs/embedding.md", to: "embedding.md", title: "Embed a conversation" },
      { from: "docs/bots.md", to: "bots.md", title: "Bots" },
      { from: "sdk/go/README.md", to: "sdk-go.md", title: "SDK for Go" },
      { from: "sdk/typescript/README.md", to: "sdk-typescript.md", title: "SDK for TypeScript" },
      { from: "sdk/react/README.md", to: "sdk-react.md", title: "Hooks for React" },
      { from: "proto/SPEC.md", to: "protocol.md", title: "The protocol" },
      { from: "proto/CODES.md", to: "codes.md", title: "Error codes" },
      { from: "internal/conformance/README.md", to: "conformance.md", title: "Conformance" },
      { from: "examples/README.md", to: "examples.md", title: "Examples" },
    ],
  },
  {
    section: "The project",
    pages: [
      { from: "CHANGELOG.md", to: "changelog.md", title: "What is new" },
      { from: "docs/releases.md", to: "releases.md", title: "Versions and releases" },
      { from: "ARCHITECTURE.md", to: "architecture.md", title: "Architecture" },
      { from: "CONTRIBUTING.md", to: "contributing.md", title: "Contribute" },
      { from: "SECURITY.md", to: "security.md", title: "Security" },
    ],
  },
]

/** Decisions have a page each, below Architecture. */
export const decisions = "docs/adr"
