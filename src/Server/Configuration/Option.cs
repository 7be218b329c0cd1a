using System.Diagnostics;

namespace Kv.Server.Configuration;

/// <summary>What setting an option does today.</summary>
internal enum OptionClass
{
    /// <summary>It does what its summary says.</summary>
    Honoured,

    /// <summary>It is answered and, at start, stored and logged as without effect; CONFIG SET refuses what would not be
    /// so.</summary>
    Kept,

    /// <summary>Any value but the harmless ones is refused, with the reason.</summary>
    Refused,
}

/// <summary>When an option can be set.</summary>
internal enum OptionChange
{
    /// <summary>At start and by CONFIG SET.</summary>
    Live,

    /// <summary>At start, and by CONFIG SET while a part of the server makes it so
    /// (<see cref="ServerOptions.OnChange"/>).</summary>
    ByHandler,

    /// <summary>At start, and by CONFIG SET where enable-protected-configs allows it: it names a file.</summary>
    Protected,

    /// <summary>At start only.</summary>
    AtStart,
}

/// <summary>One row: all that is known about one option. <see cref="OptionTable"/> holds them.</summary>
/// <remarks>Threads: immutable. The values are in <see cref="ServerOptions"/>, which every method is given.</remarks>
internal abstract class Option(string name)
{
    /// <summary>As <see cref="Harmless"/>: the server does as well as with any value.</summary>
    public const string AnyValue = "any value";

    private readonly string _harmless = "";

    /// <summary>The name in lower case.</summary>
    public string Name { get; } = name;

    /// <summary>Other names, under which it is answered too.</summary>
    public string[] Aliases { get; init; } = [];

    /// <summary>Names that are known at start only, not to CONFIG; one letter takes a single dash.</summary>
    public string[] Switches { get; init; } = [];

    /// <summary>One line for help and documents; empty for what only the reference's users know.</summary>
    public string Summary { get; init; } = "";

    public OptionClass Class { get; init; } = OptionClass.Honoured;

    public OptionChange Change { get; init; } = OptionChange.AtStart;

    /// <summary>Never shown in a message, a log or an error.</summary>
    public bool IsSecret { get; init; }

    /// <summary>Why a refused option is refused, or what to know of a kept one.</summary>
    public string Reason { get; init; } = "";

    /// <summary>The values, divided by commas, that say what the server does anyway, beside the default.</summary>
    public string Harmless { get => _harmless; init => _harmless = $",{value},"; }

    /// <summary>The number of the row, set once by the table that holds it.</summary>
    public int Row { get; internal set; } = -1;

    /// <summary>On the command line the bare name means yes.</summary>
    public bool IsSwitch { get; init; }

    /// <summary>Known at start only, not to CONFIG.</summary>
    public bool IsStartOnly { get; init; }

    /// <summary>Known to files and the command line, and to CONFIG REWRITE; CONFIG GET and SET do not know
    /// it.</summary>
    public bool IsLineOnly { get; init; }

    /// <summary>Whether CONFIG GET and SET know it.</summary>
    public bool IsOfConfig => !IsStartOnly && !IsLineOnly;

    public abstract string Expects { get; }

    public abstract bool ManyWords { get; }

    public abstract bool AddsUp { get; }

    public abstract bool TakesAnyText { get; }

    /// <summary>The present value's text.</summary>
    public abstract string Read(ServerOptions options);

    /// <summary>The present value as lines of a file have it, each without the name; one line but for a few
    /// options.</summary>
    public abstract IReadOnlyList<string> FileTexts(ServerOptions options);

    /// <summary>Checks a text and makes a value of it, changing nothing.</summary>
    public abstract bool TryParse(ServerOptions options, string text, out object value, out string error);

    /// <summary>The present value, as <see cref="Write"/> takes it back.</summary>
    public abstract object ReadValue(ServerOptions options);

    /// <summary>Stores what <see cref="TryParse"/> or <see cref="ReadValue"/> returned.</summary>
    public abstract void Write(ServerOptions options, object value);

    /// <summary>The text of a value.</summary>
    public abstract string Format(object value);

    /// <summary>Whether a value stops the start: it would promise something that this server does not do.</summary>
    public bool Refuses(string text, string defaultText) => Class == OptionClass.Refused && Promises(text, defaultText);

    /// <summary>Whether a value would have an effect that an option of this class does not have.</summary>
    public bool Promises(string text, string defaultText) =>
        Class != OptionClass.Honoured && text != defaultText && Harmless != $",{AnyValue},"
        && !(Harmless.Length > 0 && Harmless.Contains($",{text},", StringComparison.Ordinal));
}

/// <summary>A row with its type and the place of its value.</summary>
internal sealed class Option<T> : Option
    where T : notnull
{
    private readonly OptionType<T> _type;
    private readonly Func<ServerOptions, T> _get;
    private readonly Action<ServerOptions, T> _set;

    /// <summary>An option whose value is a property, with the property's first value as default.</summary>
    public Option(string name, OptionType<T> type, Func<ServerOptions, T> get, Action<ServerOptions, T> set)
        : base(name)
    {
        (_type, _get, _set) = (type, get, set);
    }

    /// <summary>An option without a property: nothing reads it but CONFIG GET.</summary>
    public Option(string name, OptionType<T> type, T byDefault)
        : base(name)
    {
        _type = type;
        _get = options => options.ReadKept(Row) is T kept ? kept : byDefault;
        _set = (options, value) => options.WriteKept(Row, value);
        Class = OptionClass.Kept;
        Change = OptionChange.Live;
    }

    public override string Expects => _type.Expects;

    public override bool ManyWords => _type.ManyWords;

    public override bool AddsUp => _type.AddsUp;

    public override bool TakesAnyText => _type.TakesAnyText;

    public override string Read(ServerOptions options) => _type.Format(_get(options));

    public override IReadOnlyList<string> FileTexts(ServerOptions options) => _type.FileTexts(_get(options));

    public override object ReadValue(ServerOptions options) => _get(options);

    public override void Write(ServerOptions options, object value) => _set(options, (T)value);

    public override string Format(object value) => _type.Format((T)value);

    public override bool TryParse(ServerOptions options, string text, out object value, out string error)
    {
        bool parsed = _type.TryParse(text, _get(options), out var typed, out error);
        value = typed;
        Debug.Assert(!parsed || typed is not null, "a type that parses yields a value");
        return parsed;
    }
}
