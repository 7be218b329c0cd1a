using System.Diagnostics;

namespace Kv.Server.Configuration;

/// <summary>Takes the program's arguments apart into lines, as if each option stood in a file.</summary>
/// <remarks>
/// <c>[file] [--name value...]... [-]</c>, where an option with its value may be one argument (<c>"--port 7000"</c>),
/// <c>--name=value</c> is one word whatever it holds, and a switch needs no value.
/// </remarks>
internal sealed class CommandLine
{
    internal const string NamesAreKnown = "docs/configuration.md and --help have the names there are";

    private readonly IReadOnlyList<string> _args;
    private int _at;

    private CommandLine(IReadOnlyList<string> args) => _args = args;

    /// <summary>The options, in order.</summary>
    public List<ConfigLine> Lines { get; } = [];

    /// <summary>The configuration file; null for none.</summary>
    public string? File { get; private set; }

    /// <summary>A dash, first or last, asks for lines from standard input.</summary>
    public bool ReadsStandardInput { get; private set; }

    /// <summary>What is wrong; empty when all was understood.</summary>
    public List<OptionProblem> Problems { get; } = [];

    public static CommandLine Parse(IReadOnlyList<string> args)
    {
        var line = new CommandLine(args);
        line.Parse();
        return line;
    }

    /// <summary>The option of a long name as it is known at start, with the names CONFIG does not have.</summary>
    public static Option? Find(string name) => OptionTable.Find(name)
        ?? OptionTable.Rows.FirstOrDefault(o => o.Switches.Contains(name, StringComparer.OrdinalIgnoreCase)
            && name.Length > 1);

    private void Parse()
    {
        if (_args.Count > 0 && !_args[0].StartsWith('-') && _args[0].Length > 0) File = _args[_at++];
        while (_at < _args.Count)
        {
            string arg = _args[_at++];
            if (arg == "-" && (_at == 1 || _at == _args.Count)) ReadsStandardInput = true;
            else if (arg.StartsWith("--", StringComparison.Ordinal)) ParseLong(arg);
            else if (FindShort(arg) is { } option) AddOption(option, arg, [option.Name]);
            else AddProblem(Line(arg).Error(WhatElse(arg)), NamesAreKnown);
        }
    }

    /// <summary>Notes what is wrong with an option, and passes by what may be its values.</summary>
    private void AddProblem(string text, string remedy)
    {
        Problems.Add(new OptionProblem(text, remedy));
        while (_at < _args.Count && !StartsOption(_args[_at])) _at++;
    }

    private void ParseLong(string arg)
    {
        Debug.Assert(arg.Length >= 2 && arg[1] == '-', "the dashes were looked at");
        int end = arg.AsSpan().IndexOfAny(" \t=");
        string name = end < 0 ? arg[2..] : arg[2..end];
        if (Find(name) is not { } option)
        {
            // Directives of files reach the one place that explains them; all other names are mistakes.
            if (RefusedOptions.Directives.TryGetValue(name, out string? reason))
                AddProblem(Line(arg).Error(reason), "leave it out");
            else
                AddProblem(new ConfigLine(ConfigLine.CommandLine, arg, [$"--{name}"]).Error(
                    $"unknown option '--{ConfigLine.Printable(name)}'" + Suggestion.For(name, "--"),
                    Suggestion.OptionNear(name)), NamesAreKnown);
            return;
        }

        if (end < 0)
        {
            AddOption(option, arg, [name]);
        }
        else if (arg[end] == '=')
        {
            Lines.Add(new ConfigLine(ConfigLine.CommandLine, arg, [name, arg[(end + 1)..]]));
        }
        else if (ConfigLine.Split(arg[2..]) is { } words)
        {
            AddOption(option, arg, words);
        }
        else
        {
            AddProblem(Line(arg).Error("unbalanced quotes"), "close the quote, and put a space behind it");
        }
    }

    /// <summary>Adds an option with the arguments that follow it, up to the next option.</summary>
    private void AddOption(Option option, string written, List<string> words)
    {
        Debug.Assert(words.Count > 0, "an option has a name");
        if (words.Count == 1 && _at < _args.Count && option.TakesAnyText && !IsKnownOption(_args[_at]))
            words.Add(_args[_at++]);        // also when it begins with a dash: a password may
        while (_at < _args.Count && !StartsOption(_args[_at])) words.Add(_args[_at++]);

        string text = words.Count == 1 ? written : $"{written.Split(' ')[0]} {string.Join(' ', words.Skip(1))}";
        if (words.Count == 1 && option.IsSwitch) words.Add("yes");
        if (words.Count == 1 && option.AddsUp) words.Add("");           // a bare --save saves never
        if (words.Count == 1)
        {
            AddProblem(Line(text).Error($"needs a value ({option.Expects})"), $"write --{option.Name} and a value");
            return;
        }

        Lines.Add(new ConfigLine(ConfigLine.CommandLine, text, words));
    }

    private bool StartsOption(string arg) =>
        arg.StartsWith("--", StringComparison.Ordinal) || FindShort(arg) is not null
        || (arg == "-" && _at == _args.Count - 1);

    private static bool IsKnownOption(string arg) =>
        arg.StartsWith("--", StringComparison.Ordinal) && Find(arg[2..].Split(' ', '=')[0]) is not null;

    private static Option? FindShort(string arg) => arg.Length == 2 && arg[0] == '-'
        ? OptionTable.Rows.FirstOrDefault(o => o.Switches.Contains(arg[1..])) : null;

    private static string WhatElse(string arg)
    {
        string name = arg.TrimStart('-');
        return arg.StartsWith('-') && Find(name) is not null ? $"did you mean '--{name}'?"
            : arg.StartsWith('-') ? $"unknown option{Suggestion.For(name, "--")}"
            : "expected an option, as in --port 6379";
    }

    private static ConfigLine Line(string text) => new(ConfigLine.CommandLine, text, [text]);
}
