using System.Globalization;
using System.Text;

namespace Kv.Tests.Lua.Fuzz;

/// <summary>Random programs of Lua 5.1 that print what they do: every statement and expression, metatables, coroutines,
/// protected calls, the libraries of strings and tables.</summary>
/// <remarks>
/// They end: loops are counted, recursion is bounded by a parameter that falls. They show nothing that Lua leaves open:
/// no address, no order of a traversal, no length of a list with holes. Many have an error in them, since a variable
/// may have any type.
/// </remarks>
internal sealed class ProgramGrammar(Random random)
{
    private const int LocalsMax = 40;

    private static readonly string[] Methods = ["upper", "len", "rep", "sub", "byte", "x", "reverse"];

    private static readonly string[] Replacements =
        ["'%0%0'", "'<%1>'", "'%2'", "function(a, b) return b end", "{a = 'Z', h = false}", "''", "'%'"];

    private static readonly string[] MathFunctions =
        ["floor", "ceil", "abs", "sqrt", "max", "min", "fmod", "exp", "modf", "frexp"];

    private static readonly string[] Called =
        ["error", "type", "tostring", "setmetatable", "rawget", "string.rep", "unpack", "ipairs"];

    private static readonly string[] Numbers = ["0", "1", "2", "3", "-1", "0.5", "1e3", "255", "2^31", "1e15", "-0.25",
        "0x1F", "1e308", "7", "10", "100", "1/3"];

    private static readonly string[] Strings =
        ["''", "'a'", "'abc'", "'10'", "'0x1p4'", "' 5 '", "\"x\\ny\"", "[[long]]",
        "[==[a]]b]==]", "'\\0\\255'", "'%d %s'", "'hello world'", "'key'", "'a.b.c'", "'1e2'", "'-'"];

    private static readonly string[] Globals = ["g1", "g2", "g3", "undefined"];
    private static readonly string[] Fields = ["x", "y", "key", "n", "f"];
    private static readonly string[] Patterns = ["'%a+'", "'.'", "'(%w)(%w*)'", "'^%s*(.-)%s*$'", "'[^,]*'", "'%d+'",
        "'()'", "'%b()'", "'%f[%w]%w+'", "'[a-c]-b'", "'x*'", "'(.)%1'", "'%'", "'['", "'('", "'%z'",
        "'[%w_]+'", "'$'"];

    private static readonly string[] Formats = ["'%d'", "'%5.2f'", "'%s'", "'%q'", "'%x'", "'%-5d|'", "'%g'", "'%c'",
        "'%05d'", "'%+d'", "'%e'", "'%10s|'", "'%.3s'", "'%i %u'", "'%%'", "'%'", "'%y'", "'%o'", "'%X'", "'%a'"];

    private static readonly string[] Arithmetic = ["+", "-", "*", "/", "%", "^"];
    private static readonly string[] Comparison = ["==", "~=", "<", "<=", ">", ">="];
    private static readonly string[] Events = ["__index", "__newindex", "__call", "__add", "__sub", "__mul", "__div",
        "__mod", "__pow", "__unm", "__concat", "__eq", "__lt", "__le", "__tostring", "__metatable", "__len"];

    private readonly StringBuilder _text = new();
    private readonly List<string> _locals = [];
    private int _depth, _functions, _loops, _names, _left;
    private bool _isVararg = true;

    /// <summary>A program.</summary>
    /// <param name="statements">About how many statements.</param>
    public string Next(int statements = 12)
    {
        _text.Clear();
        _locals.Clear();
        (_depth, _functions, _loops, _names, _left, _isVararg) = (0, 0, 0, 0, statements * 3, true);
        for (int i = 0; i < statements; i++) Statement();
        if (random.Next(6) == 0) Line($"return {Expression(2)}");
        return _text.ToString();
    }

    /// <summary>A program with some bytes wrong.</summary>
    public string NextDamaged()
    {
        string[] pieces = [" end ", "(", ")", "\"", "..", " nil ", "=", " function ", "{", "}", "1e", "[[",
            "]]", ":", ",",
            " local ", "...", " do ", "~", "!", "\\", "--", "--[[", " return ", " break ", " and ", "'", "0x", ";"];
        var text = new StringBuilder(Next(random.Next(2, 6)));
        for (int damage = random.Next(1, 4); damage > 0 && text.Length > 8; damage--)
        {
            int at = random.Next(text.Length - 4);
            if (random.Next(2) == 0) text.Remove(at, random.Next(1, 4));
            else text.Insert(at, pieces[random.Next(pieces.Length)]);
        }

        return text.ToString();
    }

    private string Pick(string[] pool) => pool[random.Next(pool.Length)];

    private void Line(string text) => _text.Append(' ', _depth * 2).Append(text).Append('\n');

    private string NewName() => "v" + (++_names).ToString(CultureInfo.InvariantCulture);

    private void Block(int statements)
    {
        int known = _locals.Count;
        _depth++;
        for (int i = 0; i < statements; i++) Statement();
        _depth--;
        _locals.RemoveRange(known, _locals.Count - known);
    }

    private void Statement()
    {
        if (--_left < 0 || _depth > 4)
        {
            Line($"print({Expression(1)})");
            return;
        }

        switch (random.Next(24))
        {
            case 0 or 1 or 2: Local(); break;
            case 3 or 4: Line($"{Target()} = {Expression(3)}"); break;
            case 5: Line($"{Target()}, {Target()} = {Expression(2)}, {Expression(2)}"); break;
            case 6 or 7: If(); break;
            case 8: NumericFor(); break;
            case 9: While(); break;
            case 10: Repeat(); break;
            case 11: GenericFor(); break;
            case 12: Function(); break;
            case 13: Protected(); break;
            case 14: Metatable(); break;
            case 15: Coroutine(); break;
            case 16: Closure(); break;
            case 17: Line($"{Callee()}({Expressions(3)})"); break;
            case 18: List(); break;
            case 19 when _loops > 0: Line($"if {Expression(2)} then break end"); break;
            case 20: Compiled(); break;
            case 21: Line($"do local {NewName()} = {Expression(2)} print({Expression(2)}) end"); break;
            default: Line($"print({Expressions(3)})"); break;
        }
    }

    private void Local()
    {
        if (_locals.Count >= LocalsMax)
        {
            Line($"{Pick([.. _locals])} = {Expression(2)}");
            return;
        }

        string name = NewName();
        if (random.Next(5) == 0)
        {
            string second = NewName();
            Line($"local {name}, {second} = {Expressions(3)}");
            _locals.Add(second);
        }
        else
        {
            Line($"local {name} = {Expression(3)}");
        }

        _locals.Add(name);
    }

    private void If()
    {
        Line($"if {Expression(3)} then");
        Block(random.Next(1, 3));
        if (random.Next(3) == 0)
        {
            Line($"elseif {Expression(2)} then");
            Block(1);
        }

        if (random.Next(2) == 0)
        {
            Line("else");
            Block(random.Next(1, 3));
        }

        Line("end");
    }

    private void Loop(string head, string[] variables, string end = "end")
    {
        Line(head);
        _locals.AddRange(variables);
        _loops++;
        Block(random.Next(1, 3));
        _loops--;
        _locals.RemoveRange(_locals.Count - variables.Length, variables.Length);
        Line(end);
    }

    private void NumericFor()
    {
        string name = NewName();
        string head = random.Next(4) switch
        {
            0 => $"for {name} = {random.Next(5)}, {random.Next(-3, 3)}, -1 do",
            1 => $"for {name} = 0, 1, 0.25 do",
            2 => $"for {name} = {Pick(Strings)}, {random.Next(4)} do",
            _ => $"for {name} = 1, {random.Next(1, 6)} do",
        };
        Loop(head, [name]);
    }

    private void While()
    {
        string name = NewName();
        Line($"local {name} = 0");
        Loop($"while {name} < {random.Next(1, 5)} do {name} = {name} + 1", []);
    }

    private void Repeat()
    {
        string name = NewName();
        Line($"local {name} = 0");
        Loop($"repeat {name} = {name} + 1 local {name}_ = {Expression(1)}", [],
            $"until {name} >= {random.Next(1, 4)} or {name}_ == {Expression(1)}");
    }

    private void GenericFor()
    {
        string key = NewName(), value = NewName();
        string head = random.Next(5) switch
        {
            0 => $"for {key}, {value} in ipairs({Expression(1)}) do",
            1 => $"for {key}, {value} in string.gmatch({Pick(Strings)}, {Pick(Patterns)}) do",
            2 => $"for {key}, {value} in pairs({{{Expression(1)}}}) do",
            3 => $"for {key} in coroutine.wrap(function() for i = 1, 3 do coroutine.yield({Expression(1)}, i) "
                + $"end end) do",
            _ => $"for {key}, {value} in next, {{{Pick(Fields)} = {Expression(1)}}} do",
        };
        Loop(head, head.Contains(value + " ", StringComparison.Ordinal) ? [key, value] : [key]);
    }

    private void Function()
    {
        string name = NewName(), first = NewName(), second = NewName();
        bool isVararg = random.Next(3) == 0, wasVararg = _isVararg;
        int loops = _loops;
        (_isVararg, _loops) = (isVararg, 0);
        Line($"local function {name}({first}, {second}{(isVararg ? ", ..." : "")})");
        _locals.Add(first);
        _locals.Add(second);
        _functions++;
        if (random.Next(3) == 0)
            Line($"  if type({first}) == 'number' and {first} > 0 and {first} < 20 then return {name}({first} - 1, "
                + $"{second}) end");
        Block(random.Next(1, 3));
        Line($"  return {Expressions(3)}");
        _functions--;
        _locals.RemoveRange(_locals.Count - 2, 2);
        Line("end");
        (_isVararg, _loops) = (wasVararg, loops);
        _locals.Add(name);
        Line($"print({name}({Expressions(3)}))");
    }

    private void Body(string parameters, Action inside)
    {
        bool wasVararg = _isVararg;
        int loops = _loops;
        (_isVararg, _loops) = (parameters.EndsWith("...", StringComparison.Ordinal), 0);
        inside();
        (_isVararg, _loops) = (wasVararg, loops);
    }

    private void Protected()
    {
        string call = random.Next(4) switch
        {
            0 => "print(pcall(function()",
            1 => "print(xpcall(function()",
            2 => "print(select('#', pcall(function()",
            _ => "print(pcall(coroutine.wrap(function()",
        };
        Line(call);
        Body("", () =>
        {
            Block(random.Next(1, 3));
            if (random.Next(2) == 0)
                Line(random.Next(3) == 0 ? $"  error({Expression(2)}, {random.Next(3)})" : $"  error({Expression(2)})");
            else Line($"  return {Expressions(3)}");
        });
        Line(call.StartsWith("print(x", StringComparison.Ordinal)
            ? $"end, function(m) return {Expression(1)}, m end))"
            : call.StartsWith("print(pcall(f", StringComparison.Ordinal) ? "end))" : "end)))");
    }

    private void Metatable()
    {
        string name = NewName(), events = string.Join(", ",
            Enumerable.Range(0, random.Next(1, 4)).Select(_ => $"{Pick(Events)} = {Handler()}"));
        Line($"local {name} = setmetatable({{{random.Next(9)}, x = {Expression(1)}}}, {{{events}}})");
        _locals.Add(name);
        string other = _locals.Count > 1 && random.Next(2) == 0 ? Pick([.. _locals]) : Expression(1);
        string use = Pick([$"{name} {Pick(Arithmetic)} {other}", $"{other} .. {name}", $"-{name}",
            $"{name} {Pick(Comparison)} {other}", $"{name}.{Pick(Fields)}", $"{name}({other})", $"tostring({name})",
            $"getmetatable({name})", $"#{name}", $"rawequal({name}, {other})"]);
        Line($"print(pcall(function() return {use} end))");
    }

    private string Handler()
    {
        bool wasVararg = _isVararg;
        _isVararg = false;
        _locals.Add("a");
        _locals.Add("b");
        string handler = random.Next(4) switch
        {
            0 => $"{{x = {Expression(1)}, key = {Expression(1)}}}",
            1 => Expression(1),
            _ => $"function(a, b) return {Expression(1)} end",
        };
        _locals.RemoveRange(_locals.Count - 2, 2);
        _isVararg = wasVararg;
        return handler;
    }

    private void Coroutine()
    {
        string name = NewName();
        Line($"local {name} = coroutine.create(function(a, ...)");
        Body("...", () =>
        {
            _locals.Add("a");
            Block(1);
            Line($"  local b = coroutine.yield({Expressions(2)})");
            _locals.Add("b");
            Block(1);
            Line($"  print({name} and coroutine.status({name}), coroutine.yield(a, b))");
            Line(random.Next(3) == 0 ? $"  error({Expression(1)})" : $"  return {Expressions(2)}");
            _locals.RemoveRange(_locals.Count - 2, 2);
        });
        Line("end)");
        _locals.Add(name);
        for (int i = random.Next(1, 5); i > 0; i--)
            Line($"print(coroutine.resume({name}, {Expression(1)})) print(coroutine.status({name}))");
    }

    private void Closure()
    {
        string name = NewName(), list = NewName();
        Line($"local {name}, {list} = {random.Next(9)}, {{}}");
        Line($"for i = 1, {random.Next(1, 4)} do local c = i {list}[i] = function(d) c = c + (tonumber(d) or 1) {name} "
            + $"= {name} + c return c, {name} end end");
        Line($"print({list}[1](2), {list}[#{list}](), {list}[1]())");
        _locals.Add(name);
    }

    private void List()
    {
        string name = NewName(), items = string.Join(", ", Enumerable.Range(0, random.Next(7)).Select(_ =>
            random.Next(50).ToString(CultureInfo.InvariantCulture)));
        Line($"local {name} = {{{items}}}");
        string print = $"print(#{name}, table.concat({name}, ','))";
        Line(random.Next(7) switch
        {
            0 => $"table.sort({name}) {print}",
            1 => $"table.sort({name}, function(a, b) return a > b end) {print}",
            2 => $"table.insert({name}, {random.Next(5)}) {print}",
            3 => $"print(pcall(table.insert, {name}, {random.Next(1, 3)}, {Expression(1)})) print(#{name})",
            4 => $"print(table.remove({name})) {print}",
            5 => $"print(table.remove({name}, 1)) {print}",
            _ => $"print(unpack({name})) print(table.maxn({name}), select({random.Next(-2, 4)}, unpack({name})))",
        });
    }

    private void Compiled()
    {
        string source = $"return {Expression(1)}".Replace("\\", "\\\\", StringComparison.Ordinal)
            .Replace("\n", "\\n", StringComparison.Ordinal).Replace("\"", "\\\"", StringComparison.Ordinal);
        if (random.Next(4) == 0) source = source[..random.Next(1, source.Length)].TrimEnd('\\');
        Line($"do local f, m = loadstring(\"{source}\", '=inner') print(f and pcall(f), m) end");
    }

    private string Target() => random.Next(4) switch
    {
        0 => Globals[random.Next(3)],
        1 when _locals.Count > 0 => $"{Pick([.. _locals])}.{Pick(Fields)}",
        2 when _locals.Count > 0 => $"{Pick([.. _locals])}[{Expression(1)}]",
        _ => _locals.Count > 0 ? Pick([.. _locals]) : Globals[random.Next(3)],
    };

    private string Callee() => random.Next(6) switch
    {
        0 => "tostring",
        1 => "type",
        2 => "print",
        3 => Pick(Globals),
        _ => _locals.Count > 0 ? Pick([.. _locals]) : "select",
    };

    private string Expressions(int most) =>
        string.Join(", ", Enumerable.Range(0, random.Next(1, most + 1)).Select(_ => Expression(2)));

    private string Expression(int depth)
    {
        if (depth <= 0) return Leaf();
        int less = depth - 1;
        return random.Next(22) switch
        {
            0 or 1 => $"{Expression(less)} {Pick(Arithmetic)} {Expression(less)}",
            2 => $"{Expression(less)} .. {Expression(less)}",
            3 => $"{Expression(less)} {Pick(Comparison)} {Expression(less)}",
            4 => $"{Expression(less)} and {Expression(less)}",
            5 => $"{Expression(less)} or {Expression(less)}",
            6 => $"not {Expression(less)}",
            7 => $"-({Expression(less)})",
            8 => $"#{Pick(Strings)}",
            9 => $"({Expression(less)})",
            10 => $"{{{Expression(less)}, {Pick(Fields)} = {Expression(less)}}}",
            11 => $"({{{Expression(less)}, {Expression(less)}}})[{random.Next(1, 3)}]",
            12 => $"({{{Pick(Fields)} = {Expression(less)}}}).{Pick(Fields)}",
            13 => $"(function(...) return {(random.Next(2) == 0 ? "..." : "select('#', ...)")} "
                + $"end)({Expression(less)})",
            14 => Library(less),
            15 => $"({Expression(less)}):{Pick(Methods)}({random.Next(4)})",
            16 when _locals.Count > 0 => $"{Pick([.. _locals])}.{Pick(Fields)}",
            17 when _locals.Count > 0 => $"{Pick([.. _locals])}[{Expression(less)}]",
            _ => Leaf(),
        };
    }

    private string Library(int less) => random.Next(18) switch
    {
        0 => $"tostring({Expression(less)})",
        1 => $"tonumber({Expression(less)})",
        2 => $"tonumber({Expression(less)}, {random.Next(1, 38)})",
        3 => $"type({Expression(less)})",
        4 => $"string.format({Pick(Formats)}, {Expression(less)})",
        5 => $"string.find({Pick(Strings)}, {Pick(Patterns)})",
        6 => $"string.gsub({Pick(Strings)}, {Pick(Patterns)}, "
            + $"{Pick(Replacements)}{(random.Next(3) == 0 ? ", " + random.Next(3) : "")})",
        7 => $"string.match({Expression(less)}, {Pick(Patterns)})",
        8 => $"string.sub({Expression(less)}, {random.Next(-5, 6)}, {random.Next(-5, 6)})",
        9 => $"string.rep({Pick(Strings)}, {random.Next(-1, 4)})",
        10 => $"string.byte({Expression(less)}, {random.Next(-3, 4)})",
        11 => $"string.char({random.Next(256)}, {Expression(less)})",
        12 => $"math.{Pick(MathFunctions)}({Expression(less)}, {random.Next(1, 5)})",
        13 => $"select({Pick(["'#'", "1", "2", "-1", "0"])}, {Expression(less)}, {Expression(less)})",
        14 => $"pcall({Pick(Called)}, {Expression(less)})",
        15 => $"rawequal({Expression(less)}, {Expression(less)})",
        16 => $"next({{}}, {Expression(less)})",
        _ => $"table.concat({{{Expression(less)}, {Pick(Strings)}}}, {Pick(Strings)})",
    };

    private string Leaf() => random.Next(11) switch
    {
        0 or 1 => Pick(Numbers),
        2 or 3 => Pick(Strings),
        4 => Pick(["nil", "true", "false"]),
        5 => Pick(Globals),
        6 when _isVararg => "...",
        7 => "{}",
        _ => _locals.Count > 0 ? Pick([.. _locals]) : random.Next(100).ToString(CultureInfo.InvariantCulture),
    };
}
