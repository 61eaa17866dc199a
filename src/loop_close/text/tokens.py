"""Tokens of vendors, known by their shape in any surroundings, for :mod:`loop_close.text.redact`.

From the vendors' documentation and GitHub's list of supported secret scanning patterns. A row has a prefix, or a part
of the middle, and what follows it. A short prefix needs an exact length or a value that looks random, so that ordinary
words are left alone.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import NamedTuple

from loop_close.text.shapes import is_random


def _always(match: re.Match[str]) -> bool:
    return True


class CredentialRule(NamedTuple):
    """One way a credential is written.

    :ivar guards: a text that holds none of them is not searched. Those of tokens are exact, others in lower case.
    :ivar pattern: with a group ``secret``, the part to hide. Compiled when it is first needed.
    :ivar accept: has the last word on a match, and may say that only a part is to be hidden, by its end.
    """

    guards: tuple[str, ...]
    pattern: str
    accept: Callable[[re.Match[str]], bool | int] = _always


def random_looking(match: re.Match[str]) -> bool:
    """Whether the secret of a match has letters of both cases and digits, or many of them in a row."""
    return is_random(match["secret"])


_WORD, _WORDS = "[A-Za-z0-9]", "[A-Za-z0-9_-]"
UUID = "[a-f0-9]{8}(?:-[a-f0-9]{4}){3}-[a-f0-9]{12}"


# A token does not start within a word; a repr or a URL may have "\\n" or "%20" in front.
_EDGE = r"(?:(?<![A-Za-z0-9]{0})|(?<=\\[nrt]{0})|(?<=%[0-9A-Fa-f][0-9A-Fa-f]{0}))"


# Prefixes of tokens and what follows. After "~" the token must look random, after "~~" it must have letters of both
# cases and digits.
_PREFIXES = r"""
ghp_ gho_ ghu_ ghs_ ghr_  [A-Za-z0-9]{20,}+
github_pat_  [A-Za-z0-9]{20,}+(?:_[A-Za-z0-9]++)?
glpat- gldt- glrt- glrtr- glcbt- glptt- glft- glimt- glagent- glsoat- gloas- glffct-  [A-Za-z0-9_.-]{20,}+
GR1348941  [A-Za-z0-9_-]{20,}+
sk_live_ rk_live_ pk_live_ sk_test_ rk_test_  [A-Za-z0-9]{16,}+
whsec_  [A-Za-z0-9+/=]{16,}+
npm_  [A-Za-z0-9]{36,}+
rubygems_  [a-f0-9]{48}
pypi-AgEI  (?:(?!pypi-AgEI)[A-Za-z0-9_-])++
pypi-AgENdGVzd  [A-Za-z0-9_-]{20,}+
AKIA ASIA AROA AIDA ABIA ACCA  [A-Z2-7]{16}(?![A-Za-z0-9])
hf_ hf_oauth_  [A-Za-z0-9]{30,}+
SG.  [A-Za-z0-9_-]{16,}+\.[A-Za-z0-9_-]{16,}+
AIza  [A-Za-z0-9_-]{35,}+
ya29.  [A-Za-z0-9._-]{20,}+
~ 1//0  [A-Za-z0-9_-]{30,}+
GOCSPX-  [A-Za-z0-9_-]{20,}+
hvs. hvb. hvr.  [A-Za-z0-9_-]{24,}+
pul-  [a-f0-9]{40}(?![A-Za-z0-9])
dapi  [a-f0-9]{32}(?:-[0-9])?(?![A-Za-z0-9])
dckr_pat_ dckr_oat_  [A-Za-z0-9_-]{20,}+
dop_v1_ doo_v1_ dor_v1_  [a-f0-9]{64}
SK  [a-f0-9]{32}(?![A-Za-z0-9])
key-  [a-f0-9]{32}(?![A-Za-z0-9])
shpat_ shpss_ shpca_ shppa_ shpua_ shptka_  [a-fA-F0-9]{32,}+
lin_api_  [A-Za-z0-9]{32,}+
secret_  [A-Za-z0-9]{43}(?![A-Za-z0-9])
ntn_  [A-Za-z0-9]{40,}+
figd_ figo_ figu_  [A-Za-z0-9_-]{30,}+
glsa_  [A-Za-z0-9]{32}_[A-Fa-f0-9]{8}
~ glc_  [A-Za-z0-9+/=]{32,}+
eyJrIjoi  [A-Za-z0-9+/=_-]{40,}+
NRAK- NRII- NRIQ- NRRA- NRSP- NRJS-  [A-Za-z0-9_-]{19,}+
sntrys_ sntryu_  [A-Za-z0-9+/=_-]{32,}+
ATATT3 ATCTT3  [A-Za-z0-9_=-]{32,}+
ATBB  [A-Za-z0-9]{28,}+(?![A-Za-z0-9])
~ EAA  [A-Za-z0-9]{30,}+
xai-  [A-Za-z0-9]{40,}+
gsk_  [A-Za-z0-9]{40,}+
r8_  [A-Za-z0-9]{37}(?![A-Za-z0-9])
pplx-  [A-Za-z0-9]{32,}+
AGE-SECRET-KEY-1  [A-Za-z0-9]{20,}+
HRKU-  [A-Za-z0-9_-]{30,}+
PMAK-  [a-f0-9]{24}-[a-f0-9]{34}
pscale_tkn_ pscale_pw_ pscale_oauth_  [A-Za-z0-9_=.-]{30,}+
pat  [A-Za-z0-9]{14}\.[a-f0-9]{64}
dt0c01. dt0s01. dt0s02.  [A-Z0-9]{24}\.[A-Z0-9]{64}
EZAK EZTK  [A-Za-z0-9]{54}
dp.  (?:pt|ct|st|sa|scim|audit)\.[A-Za-z0-9_-]{40,}+
fo1_  [A-Za-z0-9_-]{43}
sbp_  [a-f0-9]{40}
ops_eyJ  [A-Za-z0-9+/=_-]{60,}+
v1.0-  [a-f0-9]{24}-[a-f0-9]{146}
AKCp  [A-Za-z0-9]{60,}+
sq0atp- sq0csp- sq0idp-  [A-Za-z0-9_-]{22,}+
xkeysib- xsmtpsib-  [a-f0-9]{64}-[A-Za-z0-9]{16}
access-sandbox- access-development- access-production-  [a-f0-9]{8}(?:-[a-f0-9]{4}){3}-[a-f0-9]{12}
xoxa- xoxb- xoxc- xoxd- xoxe- xoxo- xoxp- xoxr- xoxs- xapp-  [A-Za-z0-9%-]{10,}+
xoxe.  xox[bp]-[A-Za-z0-9-]{10,}+
nvapi-  [A-Za-z0-9_-]{40,}+
tvly-  [A-Za-z0-9_-]{24,}+
pcsk_  [A-Za-z0-9_]{40,}+
csk-  [a-z0-9]{40,}+
lsv2_pt_ lsv2_sk_  [a-f0-9]{32}_[a-f0-9]{10}
phx_ phc_  [A-Za-z0-9]{40,}+
squ_ sqp_ sqa_  [a-f0-9]{40}
CCIPAT_ CCIPRJ_  [A-Za-z0-9_]{30,}+
bkua_ bkct_  [a-z0-9]{40}
tskey-  [a-z]{3,10}-[A-Za-z0-9]{10,}+-[A-Za-z0-9]{20,}+
nfp_  [A-Za-z0-9]{36,}+
rnd_  [A-Za-z0-9]{28,}+
napi_  [a-z0-9]{50,}+
sgp_  [A-Za-z0-9_]{40,}+
dnkey-  [A-Za-z0-9_=-]{26}-[A-Za-z0-9_=-]{52}
LTAI  [A-Za-z0-9]{20}
sm_pat_ sm_aat_ sm_sat_  [A-Za-z0-9]{16}
tfp_  [A-Za-z0-9_-]{44}_[A-Za-z0-9_-]{14}
pnu_ pnb_  [A-Za-z0-9]{36}
sk.eyJ pk.eyJ  [A-Za-z0-9_-]{20,}+\.[A-Za-z0-9_-]{20,}+
sha256~  [A-Za-z0-9_-]{43}
rpa_  [A-Z0-9a-z]{40,}+
lin_oauth_  [A-Za-z0-9]{32,}+
sk_  [a-f0-9]{48}
CLOJARS_  [a-f0-9]{60}
eyJhdXRocyI6  [A-Za-z0-9+/=]{20,}+
FLWSECK-  [A-Za-z0-9]{32}-X
shippo_live_ shippo_test_  [a-f0-9]{40}
sk-lf- pk-lf- waka_ sdk- api- pat-na1- pat-na2- pat-eu1- pat-ap1-  UUID
~ fw_  [A-Za-z0-9]{22,24}(?![A-Za-z0-9_])
tgp_v1_  [A-Za-z0-9_-]{43}
wandb_v1_  [A-Za-z0-9_]{40,}+
ABSK  [A-Za-z0-9+/]{60,}+={0,2}
bedrock-api-key-  [A-Za-z0-9+/=_-]{60,}+
~~ AKID  [A-Za-z0-9]{32}(?![A-Za-z0-9])
~~ AQVN  [A-Za-z0-9_-]{35,38}(?![A-Za-z0-9_-])
t1.  [A-Za-z0-9_-]{8,}+={0,2}\.[A-Za-z0-9_-]{86}={0,2}
~~ y0_ y1_ y2_ y3_  [A-Za-z0-9_-]{50,60}(?![A-Za-z0-9_-])
cfut_ cfat_ cfk_  [A-Za-z0-9]{40,}+
fm1r_ fm1a_ fm2_  [A-Za-z0-9+/]{60,}+={0,2}
~~ vcp_ vci_ vca_ vcr_ vck_  [A-Za-z0-9]{24,}+
sb_secret_  [A-Za-z0-9_-]{30,}+
mdb_sa_sk_  [A-Za-z0-9_-]{40,}+
dose dkea  [a-f0-9]{32}(?![A-Za-z0-9])
~~ cflt  [A-Za-z0-9+/]{60}(?![A-Za-z0-9])
ddapp_ ddpat_  [A-Za-z0-9]{34,40}
hcaik_ hcxik_ hcbik_ hcxlk_  [a-z0-9]{50,}+
~~ dG9rO  [A-Za-z0-9+/]{50,60}={0,2}
00D  [A-Za-z0-9]{12}(?:[A-Za-z0-9]{3})?!AQ[A-Za-z0-9._]{80,}+
5Aep861  [A-Za-z0-9._]{60,}+
ATTA  [a-f0-9]{64}
pk_  [0-9]{6,9}_[A-Z0-9]{32}
CFPAT-  [A-Za-z0-9_-]{43}
~~ sk  [A-Za-z0-9]{140,}+
access_token$production$ access_token$sandbox$  [a-z0-9]{16}\$[a-f0-9]{32}
AQE  [A-Za-z0-9+/]{20,}+={0,2}-[A-Za-z0-9+/]{16,}+={0,2}-[A-Za-z0-9]{8,}+
rzp_live_ rzp_test_  [A-Za-z0-9]{14}(?![A-Za-z0-9])
FLWSECK_TEST-  [A-Za-z0-9]{12,32}(?:-X)?
APP_USR- TEST-  [0-9]{13,19}-[0-9]{6}-[a-f0-9]{32}-[0-9]{6,10}
~~ AAAAAAAAAAAAAAAAAAAA  (?=[A-Za-z0-9]*+%)[A-Za-z0-9%]{60,}+
WPL_AP1.  [A-Za-z0-9]{16}\.[A-Za-z0-9+/]{6}={0,2}
~~ re_  [A-Za-z0-9]{8}_[A-Za-z0-9]{24}(?![A-Za-z0-9])
mlsn.  [a-f0-9]{64}
cmVmdGtuOj  [A-Za-z0-9+/=_-]{40,}+
GOOG1E  [A-Z0-9]{55}
~~ 4/0A  [A-Za-z0-9_-]{60,}+
AGE-PLUGIN-  [A-Z0-9]{3,20}-1[A-Z0-9]{20,}+
kubeconfig-user- kubeconfig-u-  [a-z0-9]{4,12}:[a-z0-9]{54}
~~ 00  [A-Za-z0-9_-]{40}(?![A-Za-z0-9_-])
A3-  [A-Z0-9]{6}-[A-Z0-9]{6}(?:-[A-Z0-9]{5}){4}(?![A-Z0-9-])
A3-  [A-Z0-9]{6}-[A-Z0-9]{6}(?:-[A-Z0-9]{5}){3}(?![A-Z0-9-])
0.  UUID\.[A-Za-z0-9]{30}:[A-Za-z0-9+/]{22,}+={0,2}
st.  [a-f0-9-]{24,36}\.[a-f0-9]{32}\.[a-f0-9]{32}
dbtc_ dbtu_  [A-Za-z0-9_-]{30,}+
rdme_  [a-z0-9]{60,}+
tk-us-  [A-Za-z0-9_-]{48}
duffel_live_ duffel_test_  [A-Za-z0-9_=-]{43}
fio-u-  [A-Za-z0-9_=-]{64}
~~ aio_  [A-Za-z0-9]{28}(?![A-Za-z0-9_])
jina_  [A-Za-z0-9_-]{40,}+
~~ pa-  [A-Za-z0-9_-]{43}(?![A-Za-z0-9_-])
~ pts_  [a-z0-9]{32}(?![A-Za-z0-9_])
crsr_  [a-f0-9]{64}
esecret_  [A-Za-z0-9]{26,}+
p8e-  [A-Za-z0-9]{32}(?![A-Za-z0-9])
~ oy2  [a-z0-9]{43}(?![A-Za-z0-9])
~~ cio  [A-Za-z0-9]{32}(?![A-Za-z0-9])
live_  [a-f0-9]{35}(?![A-Za-z0-9])
secret-live- secret-test-  [A-Za-z0-9_-]{36}=
~~ u+  [A-Za-z0-9_-]{18}(?![A-Za-z0-9_-])
11  (?=[a-f0-9]{0,20}[a-f])[a-f0-9]{32}(?![A-Za-z0-9])
CfDJ8  [A-Za-z0-9_-]{80,}+
xprv  [A-Za-z0-9]{100,}+
~ sk-  [A-Za-z0-9_-]{20,}+
"""
# Tokens known by a part in their middle: that part, and the whole.
_MIDDLES = r"""
Q~  [A-Za-z0-9_~.-]{3}[0-9]Q~[A-Za-z0-9_~.-]{31,40}
.atlasv1.  [A-Za-z0-9]{14}\.atlasv1\.[A-Za-z0-9_=-]{40,}+
-us  [a-f0-9]{32}-us[0-9]{1,2}
AZDO  [A-Za-z0-9]{76}AZDO[A-Za-z0-9]{4}
JQQJ99  [A-Za-z0-9]{52}JQQJ99[A-Za-z0-9]{10,}+
:APA91b  [A-Za-z0-9_-]{11}:APA91b[A-Za-z0-9_-]{100,}+
~ .  [MNO][A-Za-z0-9_-]{23,27}\.[A-Za-z0-9_-]{6,7}\.[A-Za-z0-9_-]{27,40}
:AA  [0-9]{8,10}:AA[A-Za-z0-9_-]{33}
FFFFNRAL  [a-f0-9]{32,36}FFFFNRAL
+ACR  [A-Za-z0-9+/]{42}\+ACR[A-Za-z0-9]{6}
AzSeA  [A-Za-z0-9]{42}AzSeA[A-Za-z0-9]{5}
AzFu  [A-Za-z0-9_-]{44}AzFu[A-Za-z0-9_-]{5}[AQgw]==
"""


def _is_mixed(match: re.Match[str]) -> bool:
    value = match["secret"]
    return value.lower() != value != value.upper() and sum(map(str.isdigit, value)) > 1


_MARKS: dict[str, Callable[[re.Match[str]], bool]] = {"": _always, "~": random_looking, "~~": _is_mixed}


def _marked(row: str) -> tuple[Callable[[re.Match[str]], bool], str, str]:
    mark = row[: len(row) - len(row.lstrip("~"))]
    guards, _, body = row[len(mark) :].strip().partition("  ")
    return _MARKS[mark], guards, body.replace("UUID", UUID)


def _prefixed(row: str) -> CredentialRule:
    # The edge is written after the prefix, as "re" searches fast only for a pattern that starts with its literal.
    accept, prefixes, body = _marked(row)
    starts = (re.escape(prefix) for prefix in prefixes.split())
    start = "|".join(start + _EDGE.replace("{0}", start) for start in starts)
    return CredentialRule(tuple(prefixes.split()), f"(?P<secret>(?:{start}){body})", accept)


def _with_middle(row: str) -> CredentialRule:
    accept, guard, pattern = _marked(row)
    edge = _EDGE.replace("{0}", "")
    return CredentialRule((guard,), f"{edge}(?P<secret>{pattern})(?![A-Za-z0-9])", accept)


def _is_of_asana(match: re.Match[str]) -> bool:
    before = match.string[max(0, match.start() - 44) : match.start()]
    return re.search(r"(?<!\w)[0-2]/(?:[0-9]{13,19}/)?[0-9]{13,19}$", before) is not None


TOKENS: tuple[CredentialRule, ...] = (
    *map(_prefixed, _PREFIXES.strip().splitlines()),
    *map(_with_middle, _MIDDLES.strip().splitlines()),
    CredentialRule(
        ("s.",),
        rf"(?P<secret>s\.(?:(?<![\w.)\]]s\.)|(?<=\\ns\.)|(?<=%[0-9A-Fa-f][0-9A-Fa-f]s\.)){_WORD}{{24}})(?![A-Za-z0-9_(])",
        random_looking,
    ),
    # RFC 7519 and 7516: the header is a JSON object, so base64url of '{"'. A signed token has three parts, an encrypted
    # one five, the second of which may be empty; an unsigned one ends in its dot. The rest may be in the next line.
    CredentialRule(
        ("eyJ",),
        rf"(?P<secret>eyJ(?:(?<!{_WORDS}eyJ)|(?<=\\[nrt]eyJ)|(?<=%[0-9A-Fa-f][0-9A-Fa-f]eyJ)){_WORDS}{{6,}}+\.(?:eyJ{_WORDS}{{2,}}+(?:\.{_WORDS}*+)?"
        rf"|{_WORDS}*+\.{_WORDS}{{12,}}+(?:\.{_WORDS}{{8,}}+){{0,2}}))",
    ),
    # The second part of a pair, found from the sign between: Ghost, Twilio, Asana, Zhipu, Facebook; Telegram in a URL.
    CredentialRule((":",), r":(?<=[a-f0-9]{24}:)(?P<secret>[a-f0-9]{64})(?![A-Za-z0-9])"),
    CredentialRule((":",), r":(?<=AC[a-f0-9]{32}:)(?P<secret>[a-f0-9]{32})(?![A-Za-z0-9])"),
    CredentialRule((":",), r":(?<=[0-9]{13}:)(?P<secret>[a-f0-9]{32})(?![A-Za-z0-9])", _is_of_asana),
    CredentialRule((".",), r"\.(?<=[a-f0-9]{32}\.)(?P<secret>[A-Za-z0-9]{16})(?![A-Za-z0-9])", _is_mixed),
    CredentialRule(("|",), r"\|(?<=[0-9]{15}\|)(?P<secret>[A-Za-z0-9_-]{27})(?![A-Za-z0-9_-])", _is_mixed),
    CredentialRule(("/bot",), r"/bot(?P<secret>[0-9]{8,10}:AA[A-Za-z0-9_-]{33})(?![A-Za-z0-9])"),
)
