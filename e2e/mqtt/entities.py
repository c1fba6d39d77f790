"""Runs Home Assistant's core with its MQTT integration at a broker, and nothing else of it.

    entities.py HOST PORT FOLDER USER PASSWORD

Whenever its entities change it prints them as one line of JSON, {"entities": {ID: {"state", "name", "device", "class",
"unique_id"}}, "devices": {ID: NAME}, "faults": [TEXT]}; the faults are what it logs as a warning or worse. A line on
standard input, DOMAIN SERVICE ENTITY, calls a service, such as switch turn_on switch.yard_pause. It ends with its
standard input. FOLDER is for its files.
"""

import asyncio
import json
import logging
import pathlib
import sys
import types

from homeassistant import config_entries, loader
from homeassistant.components import mqtt
from homeassistant.core import HomeAssistant
from homeassistant.helpers import (
    area_registry,
    device_registry,
    entity,
    entity_registry,
    issue_registry,
    restore_state,
    template,
    translation,
)

faults = []


class Faults(logging.Handler):
    def emit(self, record):
        faults.append(self.format(record))


def entities(hass):
    registry = entity_registry.async_get(hass)
    devices = device_registry.async_get(hass)
    found = {}
    for state in hass.states.async_all():
        entry = registry.async_get(state.entity_id)
        if entry is None or entry.platform != "mqtt":
            continue
        device = devices.async_get(entry.device_id) if entry.device_id else None
        found[state.entity_id] = {
            "state": state.state,
            "name": state.name,
            "device": device.name if device else "",
            "class": state.attributes.get("device_class", ""),
            "unique_id": entry.unique_id,
        }
    return {
        "entities": found,
        "devices": {"/".join(sorted("_".join(i) for i in d.identifiers)): d.name for d in devices.devices.values()},
        "faults": faults,
    }


async def main(host, port, folder, user, password):
    hass = HomeAssistant(folder)
    hass.config.skip_pip = True
    hass.config.config_dir = folder
    pathlib.Path(folder, "configuration.yaml").touch()
    entity.async_setup(hass)
    loader.async_setup(hass)
    template.async_setup(hass)
    translation.async_setup(hass)
    hass.config_entries = config_entries.ConfigEntries(hass, {})
    for registry in (area_registry, device_registry, entity_registry, issue_registry):
        await registry.async_load(hass)
    await restore_state.async_load(hass)
    await hass.config_entries.async_initialize()
    hass.config.components.update({"http", "file_upload"})  # what it depends on for its dialogs
    hass.http = types.SimpleNamespace(register_view=lambda _: None)
    mqtt.PLATFORMS[:] = ["binary_sensor", "image", "sensor", "switch"]  # the others need more of Home Assistant
    logging.getLogger().addHandler(handler := Faults())
    handler.setLevel(logging.WARNING)
    await hass.async_start()
    entry = config_entries.ConfigEntry(
        version=1, minor_version=2, domain="mqtt", title="broker", source=config_entries.SOURCE_USER, options={},
        data={"broker": host, "port": port, "username": user, "password": password, "discovery": True, "discovery_prefix": "homeassistant", "protocol": "5"},
    )
    await hass.config_entries.async_add(entry)

    async def show():
        last = None
        while True:
            now = json.dumps(entities(hass), sort_keys=True)
            if now != last:
                print(now, flush=True)
                last = now
            await asyncio.sleep(0.05)

    showing = asyncio.create_task(show())
    lines = asyncio.StreamReader()
    await asyncio.get_running_loop().connect_read_pipe(lambda: asyncio.StreamReaderProtocol(lines), sys.stdin)
    while line := await lines.readline():
        domain, service, target = line.decode().split()
        await hass.services.async_call(domain, service, {"entity_id": target})
    showing.cancel()
    await hass.async_stop()


asyncio.run(main(sys.argv[1], int(sys.argv[2]), *sys.argv[3:]))
