using System.Diagnostics.CodeAnalysis;

namespace Kv.Server.PubSub;

/// <summary>Visits the patterns that there were when the walk began.</summary>
/// <remarks>Threads: one; patterns may come and go meanwhile.</remarks>
internal struct PatternWalk(PatternMap map, NamePart<Pattern>[] parts, long joined)
{
    private Pattern[] _list = [];
    private int _part, _next;

    /// <summary>Goes on to the next pattern, or to the next part of the map.</summary>
    /// <param name="pattern">Null at the beginning of a part, and for a pattern that joined later.</param>
    /// <param name="isPart">Whether this is the beginning of a part. Its list may have been made now, which costs as
    /// much as some hundred patterns.</param>
    /// <returns>False at the end.</returns>
    public bool TryNext(out Pattern? pattern, out bool isPart)
    {
        pattern = null;
        isPart = _next == _list.Length;
        if (isPart)
        {
            if (_part == parts.Length) return false;
            _list = map.ListOf(parts[_part++]);
            _next = 0;
            return true;
        }

        pattern = _list[_next++];
        if (pattern.Number >= joined) pattern = null;
        return true;
    }
}
