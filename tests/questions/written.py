"""A sound question of each kind, as it is written."""

ASK = ":::{zh}\n几个？\n:::\n:::{en}\nHow many?\n:::\n\n"
CHOICE = """\
- [ ] {zh} 一个
  {en} one
  > {zh} 少了。
  > {en} Too few.
- [x] {zh} 两个
  {en} two
  > {zh} 对。
  > {en} Right.
- [ ] NaN
  > {zh} 不是数。
  > {en} Not
  > a number.
"""
NUMBER = """\
- [x] {glue:text}`q_two:.0f`
  > {zh} 对。
  > {en} Right.
- [ ] *
  > {zh} 数一数。
  > {en} Count.
"""
LINE = """\
```python
a = 1
b = a + a
```

- [x] `b = a + a`
  > {zh} 多了。
  > {en} Too much.
- [ ] `a = 1`
  > {zh} 没有错。
  > {en} Nothing wrong.
"""
PAINT = NUMBER.replace("{glue:text}`q_two:.0f`", "{glue}`q_row`")
ORDER = """\
1. {zh} 先
   {en} first
2. {zh} 再
   {en} second
   > {zh} 要等先的。
   > {en} It waits for the first.
3. {zh} 后
   {en} third
   > {zh} 最后。
   > {en} It is last.
"""
SAY = """\
- {zh} 一点
  {en} one point
- {zh} 两点
  {en} two points

:::{zh}
两点。
:::
:::{en}
Two points.
:::
"""
KINDS = {
    "choice": ({}, CHOICE),
    "number": ({"tolerance": "0.5", "unit": "个 | things"}, NUMBER),
    "line": ({"repair": "b = a"}, LINE),
    "paint": ({"paint": "row", "columns": "甲 | A; B"}, PAINT),
    "order": ({}, ORDER),
    "say": ({}, SAY),
}
