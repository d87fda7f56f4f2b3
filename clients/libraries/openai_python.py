"""Asks for one completion with the openai library for Python; it makes its own key and retries."""

import json
import sys

import openai

url, order = sys.argv[1:]
client = openai.OpenAI(api_key="none", base_url=url + "/v1", max_retries=2)
# The library has the header's name ready and leaves it unset.
client._idempotency_header = "Idempotency-Key"
try:
    completion = client.chat.completions.create(
        model="none", messages=[{"role": "user", "content": order}]
    )
    print(json.dumps({"result": completion.id}))
except openai.APIStatusError as error:
    print(json.dumps({"status": error.status_code}))
except openai.APIConnectionError:
    print(json.dumps({"status": None}))
