// What people do in the app, by what they see: labels and texts of the English catalogue.
import { password } from "./server.mjs"

/** Makes an account in a fresh page; resolves in the app. */
export async function register(page, url, username, name) {
  await page.goto(`${url}/register`)
  await page.getByLabel("Your name").fill(name)
  await page.getByLabel("User name").fill(username)
  await page.getByLabel("Password", { exact: true }).fill(password)
  await page.getByRole("button", { name: "Create account" }).click()
  await page.getByRole("heading", { name: "Chats" }).waitFor()
}

/** Sends name and password; what follows is the caller's to know. */
export async function enter(page, url, username) {
  await page.goto(`${url}/login`)
  await page.getByLabel("User name").fill(username)
  await page.getByLabel("Password", { exact: true }).fill(password)
  await page.getByRole("button", { name: "Log in", exact: true }).click()
}

export async function logIn(page, url, username) {
  await enter(page, url, username)
  await page.getByRole("heading", { name: "Chats" }).waitFor()
}

/** Makes two users contacts, over HTTP. Each is { user, token }. */
export async function befriend(server, a, b) {
  await server.call("ContactService/RequestContact", { user: b.user }, a.token)
  await server.call("ContactService/AcceptContact", { user: a.user }, b.token)
}

/** The id of a direct chat: its users in order. */
export function dm(a, b) {
  return `dm:${[a, b].sort().join(":")}`
}

/** Opens a conversation by its address. */
export async function open(page, url, conversation) {
  await page.goto(`${url}/c/${conversation}`)
  await composer(page).waitFor()
}

export function composer(page) {
  return page.getByPlaceholder("Message", { exact: true })
}

/** Writes a message and sends it with Enter. */
export async function say(page, text) {
  await composer(page).fill(text)
  await composer(page).press("Enter")
}

/** A message that is shown, by its text. */
export function message(page, text) {
  return page.getByRole("region", { name: "Messages" }).locator("article[data-seq]").filter({ hasText: text })
}
