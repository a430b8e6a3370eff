"""The codes of languages: one language has many, and whoever names one may write any of them.

Everything that asks which language a code means asks here. What somebody typed is kept where it
names something, as in the settings of a run.
"""

import re
from dataclasses import dataclass
from functools import lru_cache
from itertools import takewhile

# ISO 639-1, and behind it what ISO 639-2 and 639-3 call the same language.
_ISO_639 = (
    "aa:aar ab:abk ae:ave af:afr ak:aka am:amh an:arg ar:ara as:asm av:ava ay:aym az:aze ba:bak "
    "be:bel bg:bul bh:bih bi:bis bm:bam bn:ben bo:bod,tib br:bre bs:bos ca:cat ce:che ch:cha "
    "co:cos cr:cre cs:ces,cze cu:chu cv:chv cy:cym,wel da:dan de:deu,ger dv:div dz:dzo ee:ewe "
    "el:ell,gre en:eng eo:epo es:spa et:est eu:eus,baq fa:fas,per ff:ful fi:fin fj:fij fo:fao "
    "fr:fra,fre fy:fry ga:gle gd:gla gl:glg gn:grn gu:guj gv:glv ha:hau he:heb hi:hin ho:hmo "
    "hr:hrv ht:hat hu:hun hy:hye,arm hz:her ia:ina id:ind ie:ile ig:ibo ii:iii ik:ipk io:ido "
    "is:isl,ice it:ita iu:iku ja:jpn jv:jav ka:kat,geo kg:kon ki:kik kj:kua kk:kaz kl:kal "
    "km:khm kn:kan ko:kor kr:kau ks:kas ku:kur kv:kom kw:cor ky:kir la:lat lb:ltz lg:lug li:lim "
    "ln:lin lo:lao lt:lit lu:lub lv:lav mg:mlg mh:mah mi:mri,mao mk:mkd,mac ml:mal mn:mon "
    "mr:mar ms:msa,may mt:mlt my:mya,bur na:nau nb:nob nd:nde ne:nep ng:ndo nl:nld,dut nn:nno "
    "no:nor nr:nbl nv:nav ny:nya oc:oci oj:oji om:orm or:ori os:oss pa:pan pi:pli pl:pol ps:pus "
    "pt:por qu:que rm:roh rn:run ro:ron,rum ru:rus rw:kin sa:san sc:srd sd:snd se:sme sg:sag "
    "si:sin sk:slk,slo sl:slv sm:smo sn:sna so:som sq:sqi,alb sr:srp ss:ssw st:sot su:sun "
    "sv:swe sw:swa ta:tam te:tel tg:tgk th:tha ti:tir tk:tuk tl:tgl tn:tsn to:ton tr:tur ts:tso "
    "tt:tat tw:twi ty:tah ug:uig uk:ukr ur:urd uz:uzb ve:ven vi:vie vo:vol wa:wln wo:wol xh:xho "
    "yi:yid yo:yor za:zha zh:zho,chi zu:zul"
)
# Where a code stands for several languages, the one that it means when nothing else is said; and
# codes of former times.
_ALSO = (
    "ar:arb ay:ayr az:azj et:ekk fa:pes gn:gug he:iw id:in jv:jw ku:kmr lv:lvs mg:plt mn:khk "
    "ms:zsm ne:npi om:gaz or:ory ps:pbt qu:quy ro:mo,mol sq:als sw:swh tl:fil uz:uzn yi:ji,ydd "
    "zh:cmn"
)
_SHORT = {
    other: short
    for short, _, others in (each.partition(":") for each in f"{_ISO_639} {_ALSO}".split())
    for other in others.split(",")
}
# The other languages of China that are written with Chinese characters, of today and of old.
_CHINESE = frozenset(
    ["yue", "wuu", "nan", "hak", "gan", "hsn", "cdo", "cjy", "cpx", "czh", "czo", "mnp", "lzh"]
)
_SCRIPT_OF_REGION = dict.fromkeys(("TW", "HK", "MO"), "Hant") | dict.fromkeys(("CN", "SG"), "Hans")


@dataclass(frozen=True)
class LanguageTag:
    """What a code says.

    Attributes:
        language: The shortest code of the language, in small letters; what is no code stays.
        script: Four letters such as Hant, or "".
        region: Such as BR or 419, or "".
    """

    language: str
    script: str = ""
    region: str = ""

    @property
    def written_as(self) -> str:
        """The language by whose rules this one is written: Cantonese by those of Chinese."""
        return "zh" if self.language in _CHINESE else self.language


@lru_cache(maxsize=1024)
def language_tag(code: str) -> LanguageTag:
    """Read the code of a language: of ISO 639, of BCP 47, or of POSIX; capitals don't count.

    >>> language_tag("fre").language, language_tag("deu").language, language_tag(" cmn ").language
    ('fr', 'de', 'zh')
    >>> language_tag("zh-hant-tw")
    LanguageTag(language='zh', script='Hant', region='TW')
    >>> language_tag("pt_BR.UTF-8")
    LanguageTag(language='pt', script='', region='BR')
    """
    first, *rest = re.split("[-_]", re.split("[.@]", code.strip().lower())[0])
    rest = list(takewhile(lambda part: len(part) > 1, rest))  # one letter begins an extension
    if rest and (rest[0] in _CHINESE or rest[0] == "cmn"):  # zh-yue
        first = rest.pop(0)
    script = next((part for part in rest if re.fullmatch("[a-z]{4}", part)), "")
    region = next((part for part in rest if re.fullmatch("[a-z]{2}|[0-9]{3}", part)), "")
    return LanguageTag(_SHORT.get(first, first), script.capitalize(), region.upper())


def short_code(code: str) -> str:
    """Return the shortest code of a language, as ``en`` of ``eng`` and of ``en_GB``.

    >>> short_code("eng"), short_code("en_GB"), short_code("yue")
    ('en', 'en', 'yue')
    """
    return language_tag(code).language


def written_as(code: str) -> str:
    """Return the short code of the language by whose rules another is written and cut.

    >>> written_as("yue-Hant"), written_as("jpn")
    ('zh', 'ja')
    """
    return language_tag(code).written_as


def same_language(one: str, other: str) -> bool:
    """Whether two codes mean the same language, in the same script where both name one.

    A region names the script of Chinese; otherwise it makes no other language.

    >>> same_language("zh", "cmn-Hans"), same_language("pt-BR", "por")
    (True, True)
    >>> same_language("zh_TW", "zh-Hans"), same_language("zh", "yue")
    (False, False)
    """
    first, second = language_tag(one), language_tag(other)
    scripts = {_script(first), _script(second)} - {""}
    return first.language == second.language and len(scripts) < 2


def _script(tag: LanguageTag) -> str:
    implied = _SCRIPT_OF_REGION.get(tag.region, "") if tag.written_as == "zh" else ""
    return tag.script or implied


__all__ = ["LanguageTag", "language_tag", "same_language", "short_code", "written_as"]
