import { fromBinary, fromJson, toBinary, toJson, type JsonValue } from "@bufbuild/protobuf"
import { frameOf, plainOf, type Codec } from "../codec.js"
import { client, server } from "./schema.js"

/*
 * The protobuf codec (SPEC §1.2), for who wants fewer bytes on the wire; it needs @bufbuild/protobuf. A frame goes by its
 * canonical JSON (§1.3), so that all that the client knows of frames stands once; that costs time, and saves none.
 */

/** For `codec` of a client's options. */
export const protobuf: Codec = {
  protocol: "skein.v1.pb",
  encode: (frame) => toBinary(client, fromJson(client, plainOf(frame) as JsonValue, { ignoreUnknownFields: true })),
  decode: (data) => {
    if (!(data instanceof ArrayBuffer)) throw new TypeError("a frame in protobuf is binary")
    return frameOf(toJson(server, fromBinary(server, new Uint8Array(data))))
  },
}
