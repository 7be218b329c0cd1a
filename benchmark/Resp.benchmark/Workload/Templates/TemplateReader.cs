using System.Text;
using RespBenchmark.CommandLine;

namespace RespBenchmark.Workload;

/// <summary>A piece of an argument of a template: text, or what stands between braces.</summary>
internal readonly record struct Atom(string Text, bool IsPlaceholder);

/// <summary>Splits a template into commands, those into arguments, those into atoms.</summary>
/// <remarks>
/// As a shell does: white space separates, "…" and '…' keep it, a backslash takes the next character as it is (in "…"
/// also; in '…' nothing means anything but the quote). Outside quotes ';' ends a command. Braces hold placeholders, but
/// '{{' is one brace, and so is '}}'. Splitting comes before substitution: what a placeholder yields is never split.
/// </remarks>
internal sealed class TemplateReader(string template)
{
    private readonly List<List<List<Atom>>> _commands = [[]];
    private readonly StringBuilder _text = new();
    private List<Atom>? _argument;
    private int _at;

    /// <exception cref="UsageException">A quote or brace does not end.</exception>
    public static List<List<List<Atom>>> Read(string template)
    {
        var reader = new TemplateReader(template);
        reader.ReadAll();
        return [.. reader._commands.Where(command => command.Count > 0)];
    }

    private void ReadAll()
    {
        while (_at < template.Length)
        {
            char letter = template[_at];
            if (char.IsWhiteSpace(letter)) EndArgument();
            else if (letter == ';')
            {
                EndArgument();
                _commands.Add([]);
            }
            else if (letter == '\'') ReadLiteral();
            else if (letter == '"') ReadQuoted();
            else ReadOne();
            _at++;
        }

        EndArgument();
    }

    /// <summary>One character, escape or placeholder; the place is left on its last character.</summary>
    private void ReadOne()
    {
        _argument ??= [];
        char letter = template[_at];
        char next = _at + 1 < template.Length ? template[_at + 1] : '\0';
        if (letter == '\\' && next != '\0') _text.Append(template[++_at]);
        else if ((letter == '{' && next == '{') || (letter == '}' && next == '}')) _text.Append(template[++_at]);
        else if (letter == '{') ReadPlaceholder();
        else _text.Append(letter);
    }

    private void ReadLiteral()
    {
        _argument ??= [];
        int end = template.IndexOf('\'', _at + 1);
        if (end < 0) throw Unended(_at);
        _text.Append(template, _at + 1, end - _at - 1);
        _at = end;
    }

    private void ReadQuoted()
    {
        _argument ??= [];
        int begin = _at++;
        for (; ; _at++)
        {
            if (_at >= template.Length) throw Unended(begin);
            if (template[_at] == '"') return;
            ReadOne();
        }
    }

    private void ReadPlaceholder()
    {
        int begin = _at, depth = 0;
        for (bool quoted = false; ; _at++)
        {
            if (_at >= template.Length) throw Unended(begin);
            char letter = template[_at];
            if (letter == '"') quoted = !quoted;
            if (quoted) continue;
            if (letter == '{') depth++;
            if (letter == '}' && --depth == 0) break;
        }

        EndText();
        _argument!.Add(new Atom(template[(begin + 1).._at].Trim(), true));
    }

    private void EndText()
    {
        if (_text.Length > 0) _argument!.Add(new Atom(_text.ToString(), false));
        _text.Clear();
    }

    private void EndArgument()
    {
        if (_argument is null) return;
        EndText();
        _commands[^1].Add(_argument);
        _argument = null;
    }

    private UsageException Unended(int begin) => new($"the template '{template}': '{template[begin..]}' does not end");
}
