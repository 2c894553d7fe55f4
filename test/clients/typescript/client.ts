// A client made from the OpenAPI document by openapi-typescript, with openapi-fetch, against
// the server whose address is the argument. It ends with "ok", or with what was not as expected.
import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import createClient from "openapi-fetch";
import type { components, paths } from "./api.js";

const [url] = process.argv.slice(2);
// Answers come as JSON; the document offers protobuf as well.
const api = createClient<paths, "application/json">({ baseUrl: url });

const device: components["schemas"]["Device"] = { id: "laptop", class: "DEVICE_CLASS_DESKTOP", name: "Laptop" };
const account = { username: "tina", password: "a long password" };

const registered = await api.POST("/api/skein.v1.AccountService/Register", { body: { ...account, displayName: "Tina" } });
assert.ok(registered.data?.tokens?.user, JSON.stringify(registered.error));
const login = await api.POST("/api/skein.v1.AccountService/Login", { body: { ...account, device, stayLoggedIn: true } });
assert.equal(login.data?.tokens?.user, registered.data.tokens.user);
api.use({
  onRequest({ request }) {
    request.headers.set("Authorization", `Bearer ${login.data?.tokens?.accessToken}`);
  },
});

// A repeat with the same key gets the first answer: there is one group.
const key = { params: { header: { "Idempotency-Key": randomUUID() } } };
const first = await api.POST("/api/skein.v1.GroupService/CreateGroup", { ...key, body: { name: "Tea" } });
const again = await api.POST("/api/skein.v1.GroupService/CreateGroup", { ...key, body: { name: "Tea" } });
const conversation = first.data?.group?.conversation;
assert.ok(conversation, JSON.stringify(first.error));
assert.deepEqual(again.data, first.data);
const other = await api.POST("/api/skein.v1.GroupService/CreateGroup", { ...key, body: { name: "Coffee" } });
assert.equal(other.response.status, 409);
assert.equal(other.error?.code, "id_conflict");

const sent = await api.POST("/api/skein.v1.MessageService/SendMessage", {
  body: { conversation, content: { type: "text", text: "hello" } },
});
assert.equal(sent.data?.seq, "2", JSON.stringify(sent.error));

const listed = await api.POST("/api/skein.v1.MessageService/ListEntries", { body: { conversation, from: "1", limit: 10 } });
assert.deepEqual(listed.data?.entries?.map((e) => e.content?.text), [undefined, "hello"]);
assert.equal(listed.data?.entries?.[1]?.kind, "ENTRY_KIND_MESSAGE");
const conversations = await api.POST("/api/skein.v1.MessageService/ListConversations", { body: {} });
assert.ok(conversations.data?.delta?.conversations?.some((c) => c.conversation === conversation && c.title === "Tea"));

const refused = await api.POST("/api/skein.v1.MessageService/SendMessage", { body: { conversation, content: { type: "Text", text: "hello" } } });
assert.equal(refused.response.status, 400);
assert.equal(refused.error?.code, "invalid_argument");
assert.equal(refused.error?.codeNumber, 4800);
assert.equal(refused.error?.field, "content.type");

console.log("ok");
