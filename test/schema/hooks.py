"""What a request needs besides fitting the document: a token, and now and then names that exist."""

import base64
import hashlib
import itertools
import json
import os
import re
import time
import unicodedata
import urllib.error
import urllib.request
import uuid

import schemathesis

with open(os.environ["SKEIN_WORLD"]) as f:
    WORLD = json.load(f)

CALLERS = itertools.cycle(WORLD["callers"].items())
ADDRESSES = itertools.count(1)
STARTED = int(time.time() * 1000)
OPEN = ("AccountService/Register", "AccountService/Login", "AccountService/Refresh", "AdminService/ClaimAdmin")
# Cursors that the server made and knows again: any other text is refused, which the document cannot say.
CURSORS = ("ListConversations", "ListReactions", "ListVotes", "ListMentions", "ListPins", "ListScheduled", "ListThreads", "SearchMessages", "SearchUsers", "InspectGroup", "ListAuditLog", "ListReports", "ListContacts")
# By method: a field, and those that must not be there beside it.
ALONE = {
    "ListConversations": [("conversations", ("position", "timeline", "limit", "cursor", "newest"))],
    "ListEntries": [("atMs", ("from",))],
    "ListStickers": [("from", ("since",))],
    "StreamMessage": [("content", ("text", "offset"))],
    "UpgradeGuest": [("username", ("code", "verifier"))],
}
POINT = "BCVxsr7N_eNgVRqvHtD0zTZsEc6-VV-JvLexhqUzORcxaOzi6-AYWXvTBHm4bjyPjs7Vd8pZGH6SRpkNtoIAiw4"
DIGITS = re.compile(r"^(0|[1-9][0-9]{0,19})$")
ID = re.compile(r"^[A-Za-z0-9_-]{1,64}$")
UUID = re.compile(r"^[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}$")
DM = re.compile(r"^dm:([A-Za-z0-9_-]{1,64}):([A-Za-z0-9_-]{1,64})$")


def call(method: str, token: str, **request) -> dict:
    r = urllib.request.Request(
        WORLD["url"] + "/api/skein.v1." + method, data=json.dumps(request).encode(),
        headers={"Content-Type": "application/json", "Authorization": "Bearer " + token})
    with urllib.request.urlopen(r, timeout=30) as answer:
        return json.load(answer)


def mint(user: str) -> str:
    return call("AdminService/MintToken", WORLD["key"], user=user)["tokens"]["accessToken"]


def make_room() -> None:
    """There are ten announcements at most: more than that is refused, which the document cannot say."""
    try:
        token = mint("clerk")
    except urllib.error.HTTPError:  # somebody erased them
        token = mint("clerk-" + uuid.uuid4().hex)
    announced = call("AccountService/GetAnnouncements", token).get("announcements", [])
    for a in announced if len(announced) > 5 else []:
        call("AdminService/WithdrawAnnouncement", WORLD["key"], id=a["id"])


@schemathesis.auth(refresh_interval=None)
class Tokens:
    """Callers take turns, so that none meets the rate of an account."""

    def get(self, case, ctx):
        path = case.operation.path
        if path.endswith(OPEN):
            return ""
        if "AdminService" in path:
            return WORLD["key"]
        name, token = next(CALLERS)
        if path.endswith("AccountService/Logout"):
            return mint(name)
        return token

    def set(self, case, data, ctx):
        if data:
            case.headers = case.headers or {}
            case.headers["Authorization"] = "Bearer " + data


def fields(format: str) -> set:
    """What fields are called to which the document gives a format."""
    with urllib.request.urlopen(WORLD["url"] + "/api/openapi.json", timeout=30) as answer:
        known = json.load(answer)["components"]["schemas"]
    return {name for schema in known.values() for name, field in schema.get("properties", {}).items() if field.get("x-skein-format") == format}


NAMES = fields("name")


def pick(seed: bytes, among):
    return among[seed[0] % len(among)]


def conversation(value: str, seed: bytes) -> str:
    m = DM.match(value)
    if m and m[1] != m[2]:
        return "dm:" + ":".join(sorted(m.groups()))
    if m or value.startswith("grp:") and seed[1] % 4:
        return WORLD["group"]
    return value


def of_today(given: bytes) -> bytes:
    """A UUIDv7 whose time is not ahead of the server's, otherwise as given."""
    made = bytearray(given)
    made[:6] = STARTED.to_bytes(6, "big")
    made[6], made[8] = made[6] & 15 | 0x70, made[8] & 63 | 0x80
    return bytes(made)


def exists(name: str, value, seed: bytes, path: str):
    """value, or in its place one that the document allows as well and that means something here."""
    if name == "extra" and isinstance(value, dict) and sum(len(f"{k}{v}".encode("utf-8", "surrogatepass")) for k, v in value.items()) > 4096:
        return {}  # keys and values have a bound together, x-skein-max-bytes
    if isinstance(value, dict):
        return {k: exists(k, v, seed, path) for k, v in value.items()}
    if isinstance(value, list):
        return [exists(name, v, seed[i % 8:] + seed, path) for i, v in enumerate(value)]
    if not isinstance(value, str):
        return value
    if name in NAMES or name == "alt" and path.endswith("SetStickerPack"):
        return named(value)
    if name in ("conversation", "conversations") and value.startswith(("dm:", "grp:")):
        return conversation(value, seed)
    if name in ("seq", "replyTo", "clearedBelow", "read", "root", "delete") and DIGITS.match(value):
        return "1"
    if name == "untilMs" and path.endswith(("BanMember", "BanUser")) and value != "0" and DIGITS.match(value):
        return "4102444800000"  # a ban that is over already is refused
    if name == "expiresAtMs" and path.endswith("CreateInviteLink") and value != "0" and DIGITS.match(value):
        return "4102444800000"  # and so is a link
    if name in ("user", "users", "members", "mentions") and "AdminService" not in path and ID.match(value) and seed[2] % 4:
        return pick(seed[3:], WORLD["others"])
    if name == "cursor" and path.endswith(CURSORS):
        return ""
    if name == "emoji" and path.endswith("SetStickerPack") and value:
        return value if len(value.encode("utf-8", "surrogatepass")) <= 32 and all(unicodedata.category(c)[0] in "LNSP" for c in value) else "🪿"
    if name == "returnTo":
        return "http://127.0.0.1:9/done"  # where to is a rule of its own, SPEC §4.31
    if name == "quietZone" and value:
        return pick(seed, ("Europe/Berlin", "Asia/Shanghai", "UTC"))
    if name == "id" and "MessageService" in path:
        if re.match(r"^[A-Za-z0-9+/]{21}[AQgw]==$", value):
            return base64.b64encode(of_today(base64.b64decode(value))).decode()
        if UUID.match(value):
            return str(uuid.UUID(bytes=of_today(uuid.UUID(value).bytes)))
    return value


def named(value: str) -> str:
    """A name without what depends on the characters beside it (x-skein-format is name): marks, joiners and selectors, and
    letters of Greek and Cyrillic, which may not stand in a word with Latin ones that they look like."""
    out = ""
    for c in value:
        kind = unicodedata.category(c)
        if "\u0370" <= c <= "\u052f" or "\u1f00" <= c <= "\u1fff" or "\u1c80" <= c <= "\u1c8f" or "\u2de0" <= c <= "\u2dff" or "\ua640" <= c <= "\ua69f" or kind in ("Cf", "Cn") or kind[0] == "M" and (not out or unicodedata.category(out[-1])[0] != "L"):
            continue
        out += c
    return out if not value or out.strip().strip("\u2800") else "Gus"


def shows(value) -> bool:
    """Whether a text has a letter, a digit or a symbol."""
    return isinstance(value, str) and any(unicodedata.category(c)[0] in "LNS" for c in value)


def filtered(rule: dict):
    """What a rule looks for (x-skein-format is pattern): a host, or a word that is seen, and so long that what others say
    does not have it by chance: they would be refused."""
    value = rule.get("pattern")
    if not isinstance(value, str) or not value or len(value) > 253:
        return value
    if rule.get("kind") == "FILTER_KIND_LINK":
        return hashlib.sha256(value.encode("utf-8", "surrogatepass")).hexdigest() + ".example"
    return value if 8 <= len(value) <= 100 and value.strip() and all(unicodedata.category(c)[0] in "LNZ" for c in value) else "casino royale"


def once(items, part="id"):
    """Items of which no two have the same id, or another part: JSON Schema knows no items that differ in a part."""
    if not isinstance(items, list) or not all(isinstance(i, dict) for i in items):
        return items
    seen, out = set(), []
    for i in items:
        value = json.dumps(i.get(part)).lower()  # what does not fit the document may be anything
        if i.get(part) is None or value not in seen:
            seen.add(value)
            out.append(i)
    return out


def together(body: dict, path: str) -> None:
    """Takes out what the document allows and other fields of the same request exclude: it could say so only if
    absence and 0, which are the same (SPEC §1.4), were not."""
    for leading, others in ALONE.get(path.rsplit("/", 1)[-1], ()):
        if body.get(leading):
            for name in others:
                body.pop(name, None)
    if "MediaService" in path:
        media = body.get("media")
        for place in media if isinstance(media, list) else [media]:
            if isinstance(place, dict) and not (place.get("conversation") and place.get("seq")):
                place.pop("conversation", None)
                place.pop("seq", None)
    if path.endswith("SetStickerPack") and not body.get("stickers"):
        body.pop("title", None)
    elif path.endswith("SetStickerPack") and isinstance(body.get("title", ""), str) and not (shows(body.get("title")) and body["title"].isprintable()):
        body["title"] = "Geese"
    if path.endswith("UpgradeGuest") and not (body.get("code") and body.get("verifier")):
        body.pop("code", None)
        body.pop("verifier", None)
        body.update({k: body.get(k) or v for k, v in {"username": "gus.hill", "password": "correct horse battery"}.items()})
    if path.endswith(("ScheduleMessage", "ChangeScheduled")) and str(body.get("atMs") or "0") != "0":
        body["atMs"] = str(STARTED + 86400000)  # within a year from now
    if path.endswith("AdminService/Announce"):
        if DIGITS.match(str(body.get("untilMs"))) and str(body["untilMs"]) != "0":
            body["untilMs"] = str(STARTED + 86400000)  # within 366 days
        body["texts"] = once(body.get("texts"), "language") if "texts" in body else []
        for text in body["texts"] if isinstance(body["texts"], list) else []:
            if isinstance(text, dict) and isinstance(text.get("text", ""), str) and not shows(text.get("text")):
                text["text"] = "Hello"
    if path.endswith("UpgradeGuest") and body.get("code"):
        body.pop("password", None)
    if path.endswith("DecideReport") and body.get("state") in (None, "REPORT_STATE_UNSPECIFIED"):
        body["state"] = "REPORT_STATE_DISMISSED"
    if path.endswith("ReportMessage") and body.get("reason") in (None, "REPORT_REASON_UNSPECIFIED"):
        body["reason"] = "REPORT_REASON_SPAM"
    if path.endswith("AddFilterRule") and isinstance(body.get("rule"), dict):
        for name, value in {"kind": "FILTER_KIND_WORD", "action": "FILTER_ACTION_REFUSE"}.items():
            if body["rule"].get(name) in (None, value.rsplit("_", 1)[0] + "_UNSPECIFIED"):
                body["rule"][name] = value
        body["rule"]["pattern"] = filtered(body["rule"])
        if body["rule"]["kind"] == "FILTER_KIND_LINK":
            body["rule"].pop("part", None)
    if path.endswith("StreamMessage") and not body.get("content") and not body.get("text"):
        body["text"] = " upon a time"
    if path.endswith("SetPushSubscription"):  # a point that is on the curve
        for holder in (body, body.get("subscription")):
            if isinstance(holder, dict) and "p256dh" in holder:
                holder.update(p256dh=POINT, endpoint="https://push.example/send/1")
    if path.endswith("SearchMessages") and all(DIGITS.match(str(body.get(n))) for n in ("afterMs", "beforeMs")) and int(body["beforeMs"]) <= int(body["afterMs"]):
        body.pop("beforeMs")
    if path.endswith("SearchMessages") and isinstance(body.get("query", ""), str) and not shows(body.get("query")) and (body.get("query") or not body.get("types")):
        body["query"] = "b"
    if path.endswith("SetLifetime") and isinstance(body.get("lifetimeS"), int) and 0 < body["lifetimeS"] < 60:
        body["lifetimeS"] = 60
    if path.endswith("ChangeScheduled") and isinstance(body.get("message"), dict):
        body["message"].pop("id", None)  # two fields that say the same are beyond JSON Schema
    if path.endswith("ForwardMessages"):
        body["messages"] = once(body.get("messages"))
    for message in (body, body.get("message")):
        if isinstance(message, dict) and str(message.get("conversation")).startswith("dm:"):
            message.pop("groupMention", None)
        if isinstance(message, dict) and str(message.get("thread") or "0") == "0":
            message.pop("alsoInMain", None)
        poll = message.get("poll") if isinstance(message, dict) else None
        if isinstance(poll, dict):
            poll["options"] = once(poll.get("options"))


@schemathesis.hook
def before_call(ctx, case, kwargs):
    if case.operation.path.endswith("AdminService/Announce"):
        make_room()
    # Each request comes from another address: passwords are counted by it.
    n = next(ADDRESSES)
    case.headers = case.headers or {}
    case.headers["X-Forwarded-For"] = f"10.{n >> 16 & 255}.{n >> 8 & 255}.{n & 255}"
    if isinstance(case.body, dict):
        seed = hashlib.sha256(json.dumps(case.body, sort_keys=True, default=str).encode()).digest()
        case.body = exists("", case.body, seed, case.operation.path)
        together(case.body, case.operation.path)
