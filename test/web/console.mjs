// People with roles, for the tests and pictures of the console.
import { readFileSync } from "node:fs"
import { join } from "node:path"

/** The admin key of a server: an owner that is no user. */
export function adminKey(server) {
  return readFileSync(join(server.data, "keys", "admin.key"), "utf8").trim()
}

/** Registers somebody and gives them a role: { user, token }. */
export async function staff(server, username, name, role) {
  const somebody = await server.register(username, name)
  await server.call("AdminService/SetServerRole", { user: somebody.user, role: `SERVER_ROLE_${role}` }, adminKey(server))
  return somebody
}

/** Makes so many users without a password: "Person 0001" and so on. */
export async function crowd(server, n) {
  const key = adminKey(server)
  const one = (i) => server.call("AdminService/MintToken", { user: `person-${String(i).padStart(5, "0")}`, displayName: `Person ${String(i).padStart(5, "0")}` }, key)
  for (let i = 0; i < n; i += 20) await Promise.all(Array.from({ length: Math.min(20, n - i) }, (_, k) => one(i + k)))
}
