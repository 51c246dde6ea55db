"""The words that the store's people, streets and goods are named with."""

from __future__ import annotations

GIVEN_NAMES = (
    "Mina", "Jonas", "Aiko", "Leila", "Tomas", "Grace", "Noor", "Pavel", "Sofia", "Emeka", "Yuna", "Marta",
    "Hugo", "Priya", "Oskar", "Elena", "Dario", "Ingrid", "Samir", "Clara", "Minjun", "Freya", "Rafael", "Anouk",
)  # fmt: skip
FAMILY_NAMES = (
    "Park", "Lindqvist", "Tanaka", "Haddad", "Novak", "Okafor", "Bauer", "Moreau", "Kim", "Silva", "Rossi", "Larsen",
    "Mehta", "Kowalski", "Ferrer", "Choi", "Brandt", "Duarte", "Yilmaz", "Berg", "Castillo", "Jensen", "Ito", "Weber",
)  # fmt: skip
STREETS = (
    "Mill Lane", "Harbour Road", "Station Street", "Orchard Way", "Chapel Hill", "River Walk", "Market Row",
    "Quarry Close", "Linden Avenue", "Canal Street", "Foundry Yard", "Beacon Rise",
)  # fmt: skip
CITIES = ("Norwick", "Easthaven", "Calder", "Stonebridge", "Lakemoor", "Ashby", "Port Ellery", "Winfield")
CARRIERS = ("Swift Post", "NordParcel", "BlueLine")
COUPON_WORDS = ("SPRING", "HELLO", "TRAIL", "LOYAL", "HARVEST", "WINTER", "GARDEN", "LAUNCH")

MATERIALS = ("Cedar", "Linen", "Copper", "Merino", "Slate", "Canvas", "Cork", "Birch", "Wool", "Amber")
GOODS = (
    ("Mug", "kitchen", "one pint, dishwasher safe", ("small", "large")),
    ("Backpack", "travel", "with a padded back and two side pockets", ("18 litres", "24 litres", "30 litres")),
    ("Jacket", "clothing", "lined, with a hood", ("S", "M", "L", "XL")),
    ("Lamp", "home", "for a desk, with a dimmer", ("black", "white")),
    ("Blanket", "home", "woven, 130 by 180 cm", ("grey", "green", "rust")),
    ("Notebook", "office", "160 pages, dotted", ("A5", "A4")),
    ("Boots", "clothing", "ankle high, resoleable", ("38", "40", "42", "44")),
    ("Kettle", "kitchen", "1.5 litres, with a thermometer", ("steel", "black")),
)
