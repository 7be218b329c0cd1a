using System.Collections;
using System.Collections.Immutable;

namespace Kv.Server.Configuration;

/// <summary>Lines of users, each name once, in the order in which the names came first.</summary>
/// <remarks>Immutable; another line makes another list in logarithmic time, as a file may have very many. Threads:
/// any.</remarks>
internal sealed class UserLines : IReadOnlyList<string>
{
    public static readonly UserLines None = new([], null);

    private readonly ImmutableList<string> _lines;
    // Null without lines: most servers have none, and what is generic over numbers is compiled at the start.
    private readonly ImmutableDictionary<string, int>? _places;

    private UserLines(ImmutableList<string> lines, ImmutableDictionary<string, int>? places)
    {
        _lines = lines;
        _places = places;
    }

    public int Count => _lines.Count;

    public string this[int index] => _lines[index];

    /// <summary>The list of some lines.</summary>
    public static UserLines Of(IReadOnlyList<string> lines) =>
        lines as UserLines ?? lines.Aggregate(None, static (all, line) => all.With(line));

    /// <summary>The user's name, with which a line begins.</summary>
    public static ReadOnlySpan<char> NameOf(string line)
    {
        int space = line.IndexOf(' ');
        return space < 0 ? line : line.AsSpan(0, space);
    }

    /// <summary>This list with one line more, in the place of one for the same user.</summary>
    public UserLines With(string line)
    {
        string name = NameOf(line).ToString();
        var places = _places ?? ImmutableDictionary.Create<string, int>(StringComparer.Ordinal);
        return places.TryGetValue(name, out int place) ? new(_lines.SetItem(place, line), places)
            : new(_lines.Add(line), places.Add(name, _lines.Count));
    }

    public IEnumerator<string> GetEnumerator() => _lines.GetEnumerator();

    IEnumerator IEnumerable.GetEnumerator() => GetEnumerator();
}
