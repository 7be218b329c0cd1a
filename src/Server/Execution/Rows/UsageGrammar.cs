namespace Kv.Server.Execution;

//  usage        := item*
//  item         := word | "[" alternatives "]" | "<" alternatives ">"
//  alternatives := item+ ( "|" item+ )*
//
//  A word in capitals (or a sign such as *, or one of LowerWords) is a keyword, others stand for values. Then by place:
//    GET encoding offset        a keyword and the values after it belong together
//    key [key ...]              what stands before the bracket may be repeated
//    TYPE string | list         a keyword before alternatives that are all of one shape goes before each of them

/// <summary>Reads and writes the usage line of a command row: from it come COMMAND DOCS' arguments and the
/// arity.</summary>
/// <remarks>Runs when somebody asks for the docs, and in tests; never for a command. A malformed line is a programmer's
/// error.</remarks>
internal static class UsageGrammar
{
    /// <summary>Keywords that are written in small letters.</summary>
    private static readonly HashSet<string> LowerWords =
        ["m", "km", "ft", "mi", "normal", "master", "slave", "replica", "pubsub", "lib-name", "lib-ver"];

    /// <summary>The arguments that a usage line describes.</summary>
    public static UsageArgument[] Parse(string usage)
    {
        var words = Split(usage);
        int at = 0;
        var items = ParseItems(words, ref at);
        if (at != words.Count) throw new FormatException($"'{words[at]}' closes nothing: {usage}");
        return Arguments(items);
    }

    /// <summary>The usage line of arguments; what <see cref="Parse"/> was given.</summary>
    public static string Format(UsageArgument[] arguments) => string.Join(' ', arguments.Select(Format));

    /// <summary>The arity that follows: the least number of words with <paramref name="nameWords"/>, negative when
    /// there may be more.</summary>
    public static int Arity(UsageArgument[] arguments, int nameWords)
    {
        var (least, open) = Words(arguments);
        return open ? -(least + nameWords) : least + nameWords;
    }

    private static (int Least, bool Open) Words(UsageArgument[] arguments)
    {
        int least = 0;
        bool open = false;
        foreach (var argument in arguments)
        {
            var (words, varies) = Words(argument);
            if (!argument.Optional) least += words;
            open |= varies || argument.Optional || argument.Multiple;
        }

        return (least, open);
    }

    private static (int Least, bool Open) Words(UsageArgument argument)
    {
        int token = argument.Token.Length > 0 ? 1 : 0;
        switch (argument.Kind)
        {
            case UsageKind.Block:
                var (least, open) = Words(argument.Children);
                return (least + token, open);
            case UsageKind.OneOf:
                var ways = argument.Children.Select(Words).ToArray();
                int shortest = ways.Min(way => way.Least);
                return (shortest + token, ways.Any(way => way.Open || way.Least != shortest));
            default:
                return (1 + token, false);
        }
    }

    // Brackets are words of their own.
    private static List<string> Split(string usage)
    {
        var words = new List<string>();
        int start = 0;
        for (int i = 0; i <= usage.Length; i++)
        {
            if (i < usage.Length && usage[i] is not (' ' or '[' or ']' or '<' or '>' or '|')) continue;
            if (i > start) words.Add(usage[start..i]);
            if (i < usage.Length && usage[i] != ' ') words.Add(usage[i].ToString());
            start = i + 1;
        }

        return words;
    }

    private static List<Item> ParseItems(List<string> words, ref int at)
    {
        var items = new List<Item>();
        while (at < words.Count && words[at] is not ("]" or ">" or "|"))
        {
            string word = words[at++];
            items.Add(word is "[" or "<" ? ParseGroup(words, ref at, word) : new Item(word, []));
        }

        return items;
    }

    private static Item ParseGroup(List<string> words, ref int at, string open)
    {
        var alternatives = new List<List<Item>>();
        do alternatives.Add(ParseItems(words, ref at));
        while (at < words.Count && words[at++] == "|");
        if (words[at - 1] != (open == "[" ? "]" : ">")) throw new FormatException($"'{open}' is not closed");
        return new Item(open, alternatives);
    }

    private static UsageArgument[] Arguments(List<Item> items)
    {
        items = FoldRepeats(items);
        var arguments = new List<UsageArgument>();
        for (int i = 0; i < items.Count; i++)
        {
            var item = items[i];
            if (!item.IsKeyword)
            {
                arguments.Add(Argument(item));
                continue;
            }

            int end = i + 1;
            while (end < items.Count && items[end].IsValue) end++;
            var values = items[(i + 1)..end].Select(Argument).ToArray();
            arguments.Add(WithToken(item.Text, values));
            i = end - 1;
        }

        return [.. arguments];
    }

    private static UsageArgument WithToken(string token, UsageArgument[] values) => values.Length switch
    {
        0 => new(UsageKind.Word) { Name = token.ToLowerInvariant(), Text = token },
        1 => values[0] with { Token = token },
        _ => Group(UsageKind.Block, values) with { Token = token },
    };

    private static UsageArgument Argument(Item item)
    {
        if (item.Repeats) return Repeated(item.Alternatives[0]);
        if (item.Alternatives.Count == 0)
            return new(UsageKind.Value) { Name = item.Text.ToLowerInvariant(), Text = item.Text };

        bool optional = item.Text == "[";
        var alternatives = item.Alternatives;
        bool multiple = TakeRepeatOfAll(item);
        if (alternatives.Count == 1) return One(Arguments(alternatives[0])) with { Optional = optional };

        string token = SharedToken(alternatives);
        if (token.Length > 0) alternatives = [alternatives[0][1..], .. alternatives[1..]];
        var children = alternatives.Select(way => One(Arguments(way))).ToArray();
        return Group(UsageKind.OneOf, children) with
        {
            Name = ChoiceName(token, children), Token = token, Optional = optional, Multiple = multiple,
                TokenRepeats = multiple && token.Length > 0,
        };
    }

    private static UsageArgument Repeated(List<Item> items)
    {
        // A single word that repeats stands for a value, even in capitals: ID [ID ...].
        if (items is [{ Alternatives.Count: 0, Repeats: false } word])
        {
            return new(UsageKind.Value) { Name = word.Text.ToLowerInvariant(), Text = word.Text, Multiple = true };
        }

        var one = One(Arguments(items));
        return one with { Multiple = true, TokenRepeats = one.Token.Length > 0 };
    }

    private static UsageArgument One(UsageArgument[] arguments) =>
        arguments.Length == 1 ? arguments[0] : Group(UsageKind.Block, arguments);

    private static UsageArgument Group(UsageKind kind, UsageArgument[] children) =>
        new(kind) { Children = children, Name = string.Join('_', children.Select(child => child.Name)) };

    // Choices that clients know by a name of their own; the name of others is made of the choices.
    private static string ChoiceName(string token, UsageArgument[] children) => children[0] switch
    {
        _ when token.Length > 0 => token.ToLowerInvariant(),
        { Text: "NX" } => "condition",
        { Text: "GT" } => "comparison",
        { Token: "EX" } => "expiration",
        { Text: "ASC" } => "order",
        { Text: "m" } => "unit",
        _ => string.Join('_', children.Select(child => child.Name)),
    };

    // "key [key ...]": a group that ends with dots takes the items in front of it that it repeats.
    private static List<Item> FoldRepeats(List<Item> items)
    {
        var folded = new List<Item>();
        foreach (var item in items)
        {
            if (item.Text != "[" || item.Alternatives is not [[.. var repeated, { Text: "..." }]])
            {
                folded.Add(item);
                continue;
            }

            int from = folded.Count - repeated.Count;
            if (from < 0 || !SameItems(folded[from..], repeated))
                throw new FormatException($"{item} repeats something else");
            folded.RemoveRange(from, repeated.Count);
            folded.Add(new Item("", [repeated]) { Repeats = true });
        }

        return folded;
    }

    // "[a | b c [a | b c ...]]": the last of the alternatives ends with all of them again.
    private static bool TakeRepeatOfAll(Item group)
    {
        var last = group.Alternatives[^1];
        if (group.Alternatives.Count == 1 || last[^1] is not { Text: "[", Alternatives.Count: > 1 } again) return false;
        if (again.Alternatives[^1][^1].Text != "...") return false;
        var expected = group.Alternatives.Select((way, i) => i < group.Alternatives.Count - 1
            ? way : [.. way[..^1], new Item("...", [])]);
        if (!expected.Zip(again.Alternatives).All(pair => SameItems(pair.First, pair.Second))) return false;
        last.RemoveAt(last.Count - 1);
        return true;
    }

    // "TYPE string | list", "FILTERBY MODULE name | PATTERN pattern": without its first word, the first is like the
    // others.
    private static string SharedToken(List<List<Item>> alternatives)
    {
        var first = alternatives[0];
        if (first.Count < 2 || !first[0].IsKeyword) return "";
        return alternatives[1..].All(way => SameShape(first[1..], way)) ? first[0].Text : "";
    }

    private static bool SameShape(List<Item> left, List<Item> right) =>
        left.Count == right.Count && left.Zip(right)
            .All(pair => pair.First.IsKeyword == pair.Second.IsKeyword && pair.First.IsValue == pair.Second.IsValue);

    private static bool SameItems(List<Item> left, List<Item> right) =>
        left.Count == right.Count && left.Zip(right).All(pair => pair.First.ToString() == pair.Second.ToString());

    private static string Format(UsageArgument argument)
    {
        string all = Body(argument);
        if (argument.Multiple)
        {
            string inner = argument.Kind == UsageKind.OneOf && !argument.Optional ? $"<{all}>" : all;
            string again = argument.TokenRepeats || argument.Token.Length == 0
                ? inner : Body(argument with { Token = "" });
            all = $"{inner} [{again} ...]";
        }

        if (argument.Optional) return $"[{all}]";
        return argument.Kind == UsageKind.OneOf && !argument.Multiple ? $"<{all}>" : all;
    }

    private static string Body(UsageArgument argument)
    {
        string text = argument.Kind switch
        {
            UsageKind.OneOf => string.Join(" | ", argument.Children.Select(Format)),
            UsageKind.Block => Format(argument.Children),
            _ => argument.Text,
        };
        return argument.Token.Length > 0 ? $"{argument.Token} {text}" : text;
    }

    /// <summary>A word, a bracketed group, or (<see cref="Repeats"/>) items that may be given again.</summary>
    private sealed record Item(string Text, List<List<Item>> Alternatives)
    {
        public bool Repeats { get; init; }

        public bool IsKeyword =>
            Alternatives.Count == 0 && (LowerWords.Contains(Text) || !Text.Any(char.IsAsciiLetterLower));

        /// <summary>A word that stands for a value, once or repeatedly: it goes with the keyword in front of
        /// it.</summary>
        public bool IsValue => Repeats
            ? Alternatives[0] is [{ Alternatives.Count: 0 }]
            : Alternatives.Count == 0 && !IsKeyword;

        public override string ToString() => Alternatives.Count == 0
            ? Text
            : $"{Text}({string.Join('|', Alternatives.Select(way => string.Join(' ', way)))}{(Repeats ? ")..." : ")")}";
    }
}
