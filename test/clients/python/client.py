"""A client made from the OpenAPI document by openapi-python-client, against the server whose
address is the argument. It ends with "ok", or with what was not as expected."""
import sys
import uuid

from skein_api import AuthenticatedClient, Client
from skein_api.api.account_service import account_service_login, account_service_register
from skein_api.api.group_service import group_service_create_group
from skein_api.api.message_service import (
    message_service_list_conversations, message_service_list_entries, message_service_send_message)
from skein_api.models import (
    Content, CreateGroupRequest, Device, DeviceClass, EntryKind, Error, ListConversationsRequest,
    ListEntriesRequest, LoginRequest, RegisterRequest, SendMessageRequest)


def main(url: str) -> None:
    client = Client(base_url=url)
    account = {"username": "pia", "password": "a long password"}
    registered = account_service_register.sync(client=client, body=RegisterRequest(**account, display_name="Pia"))
    device = Device(id="laptop", class_=DeviceClass.DEVICE_CLASS_DESKTOP, name="Laptop")
    login = account_service_login.sync(client=client, body=LoginRequest(**account, device=device, stay_logged_in=True))
    assert login.tokens.user == registered.tokens.user, (login, registered)
    client = AuthenticatedClient(base_url=url, token=login.tokens.access_token)

    # A repeat with the same key gets the first answer: there is one group.
    def create(name):
        body = CreateGroupRequest(name=name)
        return group_service_create_group.sync_detailed(client=client, body=body, idempotency_key=key)

    key = str(uuid.uuid4())
    first, again, other = create("Tea"), create("Tea"), create("Coffee")
    assert first.status_code == 200 and first.parsed == again.parsed, (first, again)
    assert other.status_code == 409 and other.parsed.code == "id_conflict", other
    conversation = first.parsed.group.conversation

    def send(content):
        body = SendMessageRequest(conversation=conversation, content=content)
        return message_service_send_message.sync(client=client, body=body)

    sent = send(Content(type_="text", text="hello"))
    assert sent.seq == "2", sent
    listed = message_service_list_entries.sync(
        client=client, body=ListEntriesRequest(conversation=conversation, from_="1", limit=10))
    assert [e.kind for e in listed.entries] == [EntryKind.ENTRY_KIND_EVENT, EntryKind.ENTRY_KIND_MESSAGE], listed
    assert listed.entries[1].content.text == "hello", listed
    conversations = message_service_list_conversations.sync(client=client, body=ListConversationsRequest())
    assert "Tea" in [c.title for c in conversations.delta.conversations], conversations

    refused = send(Content(type_="Text", text="hello"))
    assert isinstance(refused, Error), refused
    assert (refused.code, refused.code_number, refused.field) == ("invalid_argument", 4800, "content.type"), refused
    print("ok")


main(sys.argv[1])
