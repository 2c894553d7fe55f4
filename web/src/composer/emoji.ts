/*
 * The emoji that are offered, with words to find them by: those that are used in chats, not all that there are. Any
 * other can be typed or pasted.
 */

export interface Emoji {
  char: string
  words: readonly string[]
}

export type GroupName = "smileys" | "hands" | "hearts" | "nature" | "food" | "doing" | "things" | "signs"

const lists: Record<GroupName, string> = {
  smileys:
    "😀 grin|😃 smiley happy|😄 smile happy|😁 beam|😆 laughing|😅 sweat_smile|🤣 rofl|😂 joy tears lol|🙂 slight_smile|🙃 upside_down|😉 wink|😊 blush|😇 innocent angel|🥰 loved hearts|😍 heart_eyes|🤩 star_struck wow|😘 kiss|😋 yum tasty|😛 tongue|😜 crazy wink|🤪 zany|🤗 hug|🤭 oops giggle|🤫 shush quiet|🤔 thinking hmm|🫡 salute|🤐 zipper|🤨 raised_eyebrow|😐 neutral|😑 expressionless|😶 speechless|😏 smirk|😒 unamused|🙄 eye_roll|😬 grimace|😌 relieved|😔 pensive sad|😪 sleepy|😴 sleeping zzz|😷 mask ill|🤒 fever ill|🤯 mind_blown|🥳 party celebrate|😎 cool sunglasses|🤓 nerd|🧐 monocle|😕 confused|😟 worried|🙁 frown|😮 surprised wow|😲 astonished|😳 flushed|🥺 pleading please|😢 cry sad|😭 sob|😤 huff|😠 angry|😡 rage|🤬 swearing|😈 devil|💀 skull dead|🤡 clown|👻 ghost|🤖 robot|🫠 melting|🥹 moved",
  hands:
    "👍 thumbsup yes +1 good ok|👎 thumbsdown no -1 bad|👌 ok_hand|🤌 pinched|✌️ victory peace|🤞 fingers_crossed luck|🤟 love_you|🤘 rock|🤙 call_me|👈 left|👉 right|👆 up|👇 down|☝️ point|✋ stop hand|👋 wave hello bye|🤝 handshake deal|🙏 pray thanks please|👏 clap bravo|🙌 hooray|💪 muscle strong|✍️ writing|🫶 heart_hands|👀 eyes look|🧠 brain|🙋 raising_hand|🤷 shrug|🤦 facepalm|🏃 running|💃 dancing",
  hearts:
    "❤️ heart love|🧡 orange_heart|💛 yellow_heart|💚 green_heart|💙 blue_heart|💜 purple_heart|🖤 black_heart|🤍 white_heart|💔 broken_heart|❣️ heart_exclamation|💕 two_hearts|💖 sparkling_heart|💘 cupid|💯 hundred|💥 boom|💫 dizzy|✨ sparkles|⭐ star|🌟 glowing_star|🔥 fire hot",
  nature:
    "🐶 dog|🐱 cat|🦊 fox|🐻 bear|🐼 panda|🦁 lion|🐮 cow|🐷 pig|🐸 frog|🐵 monkey|🐔 chicken|🐧 penguin|🪿 goose|🦆 duck|🦉 owl|🐝 bee|🦋 butterfly|🐢 turtle|🐙 octopus|🐬 dolphin|🌵 cactus|🌲 tree|🍀 clover luck|🌹 rose|🌻 sunflower|🌸 blossom|🌍 earth world|🌙 moon|☀️ sun|⛅ cloud|🌧️ rain|⚡ lightning|❄️ snow|🌈 rainbow|🌊 wave sea",
  food:
    "☕ coffee|🍵 tea|🍺 beer|🍻 beers cheers|🍷 wine|🥂 cheers toast|🍎 apple|🍌 banana|🍓 strawberry|🍋 lemon|🥑 avocado|🍞 bread|🧀 cheese|🍕 pizza|🍔 burger|🍟 fries|🌮 taco|🍜 noodles|🍣 sushi|🥟 dumpling|🍚 rice|🍰 cake|🎂 birthday|🍩 donut|🍪 cookie|🍫 chocolate|🍦 ice_cream",
  doing:
    "🎉 tada party hooray|🎊 confetti|🎁 gift present|🎈 balloon|🏆 trophy win|🥇 gold first|⚽ football soccer|🏀 basketball|🎾 tennis|🚴 cycling bike|🏊 swimming|⛰️ mountain|🎮 game|🎲 dice|🎸 guitar|🎵 music note|🎬 movie film|🎨 art|✈️ plane flight|🚗 car|🚆 train|🚲 bicycle|🚀 rocket launch ship|⛵ boat|🏠 house home|🏢 office|🏖️ beach",
  things:
    "📱 phone|💻 laptop computer|⌨️ keyboard|📷 camera|💡 idea bulb|🔋 battery|🔑 key|🔒 lock|🔧 wrench fix|🔨 hammer|🧪 test|📦 package|📎 paperclip|📌 pin|📅 calendar date|⏰ alarm clock|⏳ hourglass wait|📈 up chart|📉 down chart|📝 memo note|📚 books|✉️ mail|📣 announce|🔔 bell|💰 money|🛒 cart|🩹 bandage|🗑️ trash",
  signs:
    "✅ check done yes|☑️ checked|✔️ tick|❌ cross no|❗ exclamation|❓ question|⚠️ warning|🚫 forbidden|⛔ no_entry|🆗 ok|🆕 new|🔴 red|🟠 orange|🟡 yellow|🟢 green|🔵 blue|⚪ white|⚫ black|➕ plus|➖ minus|➡️ arrow_right|⬅️ arrow_left|⬆️ arrow_up|⬇️ arrow_down|🔁 repeat|♻️ recycle|🏁 finish|🚩 flag",
}

export const emoji = Object.entries(lists).map(([name, list]) => ({
  name: name as GroupName,
  all: list.split("|").map((one): Emoji => {
    const [char = "", ...words] = one.split(" ")
    return { char, words }
  }),
}))

/** Those of whom a word begins with it, or has it in it. */
export function findEmoji(query: string, most = 8): Emoji[] {
  const q = query.toLowerCase().replace(/^:|:$/g, "")
  const all = emoji.flatMap((g) => g.all)
  const begins = all.filter((e) => e.words.some((w) => w.startsWith(q)))
  const inside = all.filter((e) => !begins.includes(e) && e.words.some((w) => w.includes(q)))
  return [...begins, ...inside].slice(0, most)
}

const recentKey = "skein.emoji"
const mostRecent = 24

/** What was used last in this browser. */
export function recentEmoji(): string[] {
  try {
    const all: unknown = JSON.parse(localStorage.getItem(recentKey) ?? "[]")
    return Array.isArray(all) ? all.filter((x): x is string => typeof x === "string").slice(0, mostRecent) : []
  } catch {
    return []
  }
}

export function usedEmoji(char: string): void {
  try {
    localStorage.setItem(recentKey, JSON.stringify([char, ...recentEmoji().filter((x) => x !== char)].slice(0, mostRecent)))
  } catch {
    // a browser that stores nothing remembers nothing
  }
}
