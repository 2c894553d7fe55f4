// A real provider of OpenID Connect (the npm package oidc-provider) on a port of loopback, with its own login page.
import { generateKeyPairSync } from "node:crypto"
import { mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { createServer } from "node:http"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { Provider as OpenID } from "oidc-provider"

const secret = "the secret of the client"

export class Provider {
  static async open() {
    const p = new Provider()
    p.directory = mkdtempSync(join(tmpdir(), "skein-oidc-"))
    p.listener = createServer((q, r) => p.handle(q, r))
    await new Promise((done) => p.listener.listen(0, "127.0.0.1", done))
    p.issuer = `http://127.0.0.1:${p.listener.address().port}`
    return p
  }

  /** The file of providers for a server at that address, which is the provider's only client. */
  settingsFor(url) {
    const { privateKey } = generateKeyPairSync("rsa", { modulusLength: 2048 })
    const claims = (login) => ({ preferred_username: login, name: `${login} of Corp`, email: `${login}@corp.example`, email_verified: true })
    const openID = new OpenID(this.issuer, {
      clients: [{ client_id: "skein", client_secret: secret, redirect_uris: [`${url}/login/callback`], response_types: ["code"], grant_types: ["authorization_code"] }],
      claims: { openid: ["sub"], profile: ["preferred_username", "name"], email: ["email", "email_verified"] },
      findAccount: (_, sub) => ({ accountId: sub, claims: () => ({ sub, ...claims(sub) }) }),
      jwks: { keys: [{ ...privateKey.export({ format: "jwk" }), use: "sig", alg: "RS256", kid: "one" }] },
      cookies: { keys: ["of this test"] },
      pkce: { required: () => true },
    })
    this.handle = openID.callback()
    writeFileSync(join(this.directory, "secret"), secret, { mode: 0o600 })
    const file = join(this.directory, "providers.toml")
    writeFileSync(file, `[corp]\ntitle = "Example Corp"\nissuer = "${this.issuer}"\nclient_id = "skein"\nclient_secret_file = "secret"\n`, { mode: 0o600 })
    return file
  }

  /** What somebody does on the provider's pages: name and password, then consent. */
  async logIn(page, name) {
    await page.waitForURL((u) => u.origin === this.issuer)
    await page.locator("input[name=login]").fill(name)
    await page.locator("input[name=password]").fill("any")
    await page.locator("button[type=submit]").click()
    await page.getByRole("button", { name: "Continue" }).click()
  }

  async close() {
    await new Promise((done) => {
      this.listener.close(done)
      this.listener.closeAllConnections()
    })
    rmSync(this.directory, { recursive: true, force: true })
  }
}
